#!/bin/sh
# Puts the agent of gpubot in place on a machine with systemd and Python 3.9 or newer, as root.
#
#   install.sh https://BOT [CA-FILE]   install or update; a machine with a token starts, an image waits for one
#   install.sh token                   read this machine's token from standard input, and start
#   install.sh seal                    before an image is made: take the token and all that is this machine's own away
#   install.sh remove                  take everything away again; settings and token stay in /etc/gpubot-agent
#
# DESTDIR=FOLDER lays the files there, and leaves users and services of this machine alone.
set -eu
# The service's user reads what is installed, however strict root is.
umask 022

dest=${DESTDIR:-}
home=$dest/opt/gpubot-agent
etc=$dest/etc/gpubot-agent
bin=$dest/usr/local/bin
unit=$dest/etc/systemd/system/gpubot-agent.service
wanted=$dest/etc/systemd/system/multi-user.target.wants/gpubot-agent.service
state=$dest/var/lib/gpubot-agent
user=gpubot-agent
kit=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

fail() {
    echo "install.sh: $*" >&2
    exit 2
}

for_real() { [ -z "$dest" ]; }

# systemd as the first process; in a chroot or a container there may be none.
systemd() { for_real && [ -d /run/systemd/system ]; }

service() { if systemd; then systemctl "$@"; fi; }

# The system's own interpreters alone: one in somebody's home is out of the service's sight.
find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9; do
        for folder in /usr/bin /usr/local/bin; do
            if "$folder/$name" -c 'import sys, ctypes, ssl; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
                echo "$folder/$name"
                return
            fi
        done
    done
    fail "Python 3.9 or newer is needed in /usr/bin or /usr/local/bin; install it (apt-get install python3, dnf install python3.11)"
}

make_user() {
    for_real || return 0
    id "$user" >/dev/null 2>&1 && return 0
    shell=$(command -v nologin || echo /bin/false)
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell "$shell" "$user"
}

own() { if for_real; then chown "$user:$user" "$@"; fi; }

install_all() {
    url=$1 ca=${2:-}
    # Without TLS only inside this machine: the host as a whole, not how it begins.
    case $url in
        https://?* | http://localhost | http://localhost[:/]* | http://127.0.0.1 | http://127.0.0.1[:/]*) ;;
        *) fail "$url is no address: write https://HOST or https://HOST:PORT" ;;
    esac
    case $url in *[!A-Za-z0-9.:/_-]*) fail "$url is no address: write https://HOST or https://HOST:PORT" ;; esac
    [ -z "$ca" ] || [ -r "$ca" ] || fail "$ca cannot be read"
    python=$(find_python) || exit 2
    make_user
    mkdir -p "$home" "$etc" "$etc/before-off.d" "$etc/after-on.d" "$bin" "$(dirname "$unit")"
    chmod 755 "$home" "$etc"
    ln -sfn "$python" "$home/python"
    for name in gpubot-agent.pyz gpubot-check.pyz install.sh; do
        install -m 755 "$kit/$name" "$home/.$name"
        mv -f "$home/.$name" "$home/$name"
    done
    for name in README.md LICENSE-nvidia-ml-py.txt VERSION agent.conf gpubot-agent.service gpu; do
        [ "$kit/$name" -ef "$home/$name" ] || install -m 644 "$kit/$name" "$home/$name"
    done
    # The command runs by the interpreter that was found, whichever environment somebody has activated.
    echo "#!$python" >"$bin/.gpu"
    tail -n +2 "$kit/gpu" >>"$bin/.gpu"
    chmod 755 "$bin/.gpu"
    mv -f "$bin/.gpu" "$bin/gpu"
    # The check runs by the first python3 of who asks: TensorFlow is in their environment.
    ln -sfn /opt/gpubot-agent/gpubot-check.pyz "$bin/gpubot-check"
    if [ -n "$ca" ]; then install -m 644 "$ca" "$etc/ca.pem"; fi
    if [ -e "$etc/agent.conf" ]; then
        echo "kept $etc/agent.conf (the new defaults are in $home/agent.conf)"
    else
        sed -e "s|^url *=.*|url = $url|" "$kit/agent.conf" >"$etc/.agent.conf"
        if [ -n "$ca" ]; then sed -i "s|^ca_file *=.*|ca_file = /etc/gpubot-agent/ca.pem|" "$etc/.agent.conf"; fi
        mv -f "$etc/.agent.conf" "$etc/agent.conf"
    fi
    install -m 644 "$kit/gpubot-agent.service" "$unit"
    service daemon-reload
    if systemd; then
        systemctl --quiet enable gpubot-agent
    else
        # What that does, for an image that is made without systemd running in it.
        mkdir -p "$(dirname "$wanted")"
        ln -sfn /etc/systemd/system/gpubot-agent.service "$wanted"
    fi
    echo "installed $(cat "$kit/VERSION") in $home, run by $python"
    if [ -e "$etc/token" ]; then
        service restart gpubot-agent
        systemd || echo "no systemd runs here: start it with $home/python $home/gpubot-agent.pyz"
    else
        echo "this machine's token is missing. In Slack an admin says: machine token NAME; then here: sudo sh $home/install.sh token"
    fi
}

take_token() {
    [ -e "$home/gpubot-agent.pyz" ] || fail "install first: install.sh https://BOT"
    if [ -t 0 ]; then
        printf 'Token of this machine (it is not shown): ' >&2
        trap 'stty echo' EXIT
        stty -echo
    fi
    token=
    read -r token || [ -n "$token" ] || fail "no token on standard input"
    if [ -t 0 ]; then stty echo && trap - EXIT && echo >&2; fi
    case $token in '' | *[!A-Za-z0-9._~+/=:-]*) fail "that is no token: it is one word, as machine token NAME shows it in Slack" ;; esac
    (umask 077 && printf '%s\n' "$token" >"$etc/.token")
    own "$etc/.token"
    mv -f "$etc/.token" "$etc/token"
    service restart gpubot-agent
    echo "kept in $etc/token, readable by the agent alone"
    systemd || echo "no systemd runs here: start it with $home/python $home/gpubot-agent.pyz"
}

seal() {
    service stop gpubot-agent
    rm -rf "$etc/token" "$etc/.token" "$state"
    if [ -s "$dest/etc/machine-id" ]; then
        echo "for the image also empty $dest/etc/machine-id (truncate -s 0), so that each clone gets its own"
    fi
    echo "sealed: no token, no state. Each clone: sudo sh /opt/gpubot-agent/install.sh token"
}

remove() {
    if systemd; then systemctl --quiet disable --now gpubot-agent || true; fi
    rm -rf "$home" "$unit" "$wanted" "$bin/gpu" "$bin/gpubot-check" "$state"
    service daemon-reload
    echo "removed; $etc stays"
}

if for_real && [ "$(id -u)" != 0 ]; then fail "run it as root: sudo sh $0 $*"; fi
case ${1:-} in
token | seal | remove) [ $# -eq 1 ] || fail "$1 takes no word more (a token comes on standard input, where nobody reads it in a list of processes)" ;;
esac
case ${1:-} in
token) take_token ;;
seal) seal ;;
remove) remove ;;
'' | -*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
*) [ $# -le 2 ] || fail "too many words; install.sh https://BOT [CA-FILE]"; install_all "$@" ;;
esac
