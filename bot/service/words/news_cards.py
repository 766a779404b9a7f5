"""News about a card that somebody has: it works, it is due, it goes back, it is lost, it rests."""

from __future__ import annotations

from bot.domain.leases import DELAYS, is_over, keep_offered
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import BOT, Lease, LeaseState, Turn
from bot.domain.news import ADMINS
from bot.domain.quarantine import not_there
from bot.service.ports import Button, Code, LineOf, Reply, When
from bot.service.words.common import (
    MINE,
    Part,
    about_button,
    because,
    button,
    by_number,
    clock_words,
    command,
    count_of,
    head,
    label_ref,
    listed,
    ln,
    on_machine,
    said,
    say,
    slots_of,
    span_of,
    typeable,
    why_tail,
)
from bot.service.words.levels import i_say_so, names_lost, shall_start, without_a_word
from bot.service.words.news_line import give_buttons
from bot.service.words.passing import kept_line, lifted_line, passes
from bot.service.words.shares import spare_line
from bot.service.words.telling import Telling


def _are(t: Telling) -> str:
    return "are" if t.many else "is"


def _them(t: Telling) -> str:
    return "them" if t.many else "it"


def _they(t: Telling) -> str:
    return "they" if t.many else "it"


def _end(t: Telling) -> LineOf | None:
    end = t.lease.end if t.lease is not None else t.item.until
    return ln("Yours until ", When(end), ".") if end is not None else None


def _give_back(t: Telling) -> Button | None:
    return about_button(f"Give {_them(t)} back", "release", t.ref)


def handed_on(t: Telling) -> Reply:
    """The card was on the machine already: no restart. Told to who gave it (their time is over), or to who gets it."""
    there = f"{'They sit' if t.many else 'It sits'} there already; nothing was switched off."
    gave = t.lease is not None and t.lease.state is LeaseState.ENDED
    following = _next_of(t) if gave else None
    if gave and t.to_holder and following is not None and following.person == t.person:
        return _goes_on(t, following)
    if gave and t.to_holder:
        return say(
            head(t.kind_cards, f" went on to the next request for {t.vm}, without a restart. Thank you."),
            ln(there),
            buttons=(MINE,),
        )
    first = head(
        t.kind_cards,
        f" {_are(t)} ",
        "yours" if t.to_holder else ["handed on by " if gave else "handed on to ", t.holder],
        f" without a restart of {t.vm}.",
    )
    lines = [ln(there), *((_end(t), *_terms(t)) if t.to_holder else ())]
    return say(first, *lines, buttons=(MINE,) if t.to_holder else ())


def _terms(t: Telling) -> list[LineOf | None]:
    """What its holder keeps to besides the end, if it went past others, or is only theirs while nobody waits."""
    if t.lease is None or t.lease.state not in OPEN_LEASE:
        return []
    request = t.books.requests.get(t.lease.request)
    return [
        kept_line(t.books, t.lease, t.policy, t.item.to),
        spare_line(t.lease.terms.spare, request, len(t.lease.slots)),
    ]


def _next_of(t: Telling) -> Lease | None:
    """Who has the cards that were handed on."""
    label = next((h.label for h in t.books.holds if h.slot in t.slots and h.turn is Turn.HAS), "")
    return t.books.leases.get(label)


def _goes_on(t: Telling, following: Lease) -> Reply:
    """To who gave it and has it again, for their next request: its machine may still restart for the other cards of that."""
    others = [s for s in following.slots if s not in t.slots]
    stay = "stay" if t.many else "stays"
    return say(
        head(t.kind_cards, f" {stay} in {t.vm}, for your next request (#{following.label})."),
        ln(f"{t.vm} still restarts once, for ", slots_of(others), i_say_so(t.policy, "; I say so before"), ".")
        if others
        else ln(f"{'They sit' if t.many else 'It sits'} there already; nothing is switched off."),
        buttons=(MINE,),
    )


def active(t: Telling) -> Reply:
    """The card works: its time starts."""
    end = t.item.until or (t.lease.end if t.lease is not None else None)
    until: list[Part] = [" until ", When(end)] if end is not None else []
    heard = (
        dict(t.item.counts).get("4h", 1) == 1
    )  # a button that is refused, or makes others wait longer than they were told, is none
    if not t.to_holder:
        return say(head(t.kind_cards, f" {'work' if t.many else 'works'} in {t.vm}, lent to ", t.holder, until, "."))
    return say(
        head(t.kind_cards, f" {_are(t)} in {t.vm} and yours{'' if until else ', your time runs'}", until, "."),
        ln(f"{t.vm} sees {_them(t)}: your time {_clock(t)}.")
        if t.lease is not None and t.lease.guest_seen
        else ln(f"Your time {_clock(t)}."),
        *_terms(t),
        because(t.item.reason, ""),
        ln(f"Done earlier? Give {_them(t)} back and the next in line is served sooner. I remind you before the end."),
        buttons=(MINE, _give_back(t), about_button("4 hours longer", "extend", t.ref, " 4h") if heard else None),
    )


def _clock(t: Telling) -> str:
    """What the clock of a lease does that works: it starts, or went on while its cards were put on at other addresses."""
    since = t.lease.active_since if t.lease is not None else None
    return "went on meanwhile" if since is not None and since < t.now else "starts now"


def active_unseen(t: Telling) -> Reply:
    """On and bound, but no word from the guest: the clock starts."""
    first = head(t.kind_cards, f" {_are(t)} in {t.vm}, but I have not heard from inside it yet.")
    if not t.to_holder:
        return say(first, ln(f"vCenter shows {_them(t)} in place; whether the driver sees {_them(t)} I cannot tell."))
    return say(
        first,
        ln(
            f"vCenter shows {_them(t)} in place; whether the driver sees {_them(t)} I cannot tell. Please look: ",
            Code("nvidia-smi"),
            ".",
        ),
        ln("Your time went on meanwhile." if _clock(t) != "starts now" else "Your time runs from now all the same."),
        _end(t),
        *_terms(t),
        buttons=(MINE, _give_back(t)),
    )


def active_off(t: Telling) -> Reply:
    """Its machine stays off: the clock starts all the same."""
    return say(
        head(t.kind_cards, f" {_are(t)} in {t.vm}, which is still off."),
        ln("Your time went on meanwhile." if _clock(t) != "starts now" else "Your time runs from now all the same."),
        _end(t),
        *_terms(t),
        buttons=(button(f"Start {t.vm}", f"start{typeable(t.machine)}", "primary"), _give_back(t), MINE),
    )


def waits_power_on(t: Telling) -> Reply:
    """The card sits in a machine that its owner left off. Of one that worked before its host was restarted the time goes on."""
    again = t.lease is not None and t.lease.active_since is not None
    starts = "Your time goes on meanwhile." if again else "Your time starts when it is on."
    late = (
        None
        if again
        else ln("If it stays off, your time starts ", When(t.item.until), " all the same.")
        if t.item.until is not None
        else ln(f"If it stays off, your time starts after {span_of(t.policy.power_on_wait)} all the same.")
    )
    return say(
        head(t.kind_cards, f" {_are(t)} in {t.vm}, which is off. {shall_start(t.policy)}?"),
        ln(
            f"I do not know since when it is off: my records were put back from a copy. {starts}"
            if t.machine is not None and t.machine.restored is not None
            else f"It was off before I came, so I left it off. {starts}"
        ),
        late,
        buttons=(
            button(f"Start {t.vm}", f"start{typeable(t.machine)}", "primary"),
            _give_back(t),
        ),
    )


def guest_without(t: Telling) -> Reply:
    """The guest reports, but without the card: its owner may repair."""
    until = t.item.until
    if until is None and t.lease is not None and t.lease.guest_without_since is not None:
        until = t.lease.guest_without_since + t.policy.repair
    return say(
        head(f"{t.vm} is on, but does not see ", t.cards, "."),
        ln(
            f"vCenter shows {_them(t)} in place, so most likely the driver inside is the cause. Look with ",
            Code("nvidia-smi"),
            ".",
        ),
        because(t.item.reason, "From inside: "),
        ln(
            f"{'They stay' if t.many else 'It stays'} in for you to look until ",
            When(until),
            f"; {t.vm} is not restarted unasked.",
        )
        if until is not None
        else None,
        ln(f"Not seen by then, I take {_them(t)} for broken, and you are in line again at your old place."),
        buttons=(button("Why?", f"why{t.ref}"), _give_back(t)),
    )


def card_broken(t: Telling) -> Reply:
    """The guest reports broken cards: by name, or one of the machine if it does not say which."""
    known, many = bool(t.item.slots), len(t.item.slots) > 1
    first = head(
        t.cards if known else "A card of", f" in {t.vm} " if known else f" {t.vm} ", "are" if many else "is", " broken", why_tail(t.item.reason)
    )  # fmt: skip
    rest = ln(
        f"{'They are' if many else 'It is'} lent to nobody else, and {'rest' if many else 'rests'} once out of {t.vm}."
    )
    if t.public or not t.to_holder:
        return say(
            first,
            None if known else ln("The guest does not say which; what may be it rests once out."),
            _holders(t),
            rest if known else None,
            buttons=(button("Keep it out of the pool", f"drain {t.item.slots[0]} because broken"),)
            if known and not many and t.item.to == ADMINS
            else (),
        )
    if t.lease is not None and t.lease.state is LeaseState.RETURNING:
        mine = ln(
            f"{'They come' if many else 'It comes'} out in the next restart of {t.vm}. You are in line again at your old place."
        )
        return say(first, mine, rest, buttons=(button("Why?", f"why{t.ref}"), _give_back(t)))
    return say(
        first,
        ln(f"What ran on {'them' if many else 'it'} has probably died: please look. You did nothing wrong, and the admins know."),
        ln(
            f"Nothing is taken from you: {'they stay' if many else 'it stays'} in until {t.vm} restarts next, and nothing restarts unasked. "
            f"Give {'them' if many else 'it'} back when it suits you, and ask for another."
        ),
        buttons=(button("Why?", f"why{t.ref}"), _give_back(t) if t.lease is None or set(t.item.slots) <= set(t.lease.slots) else MINE),
    )  # fmt: skip


def _holders(t: Telling) -> LineOf | None:
    """To whom the broken cards are lent; if none is named, to whom those of the machine are."""
    has = {s: x.person for x in t.books.leases.values() if x.state in _THERE and _in(t, x) for s in x.slots}
    people = list(dict.fromkeys(has[s] for s in t.item.slots or sorted(has, key=by_number) if s in has))
    if not people and t.person:
        people = [t.person]
    who = listed(t.named(p) for p in people)
    return ln("Lent to ", who, f". I do not restart {t.vm} for that unasked.") if people else None


_THERE = (LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)


def _in(t: Telling, lease: Lease) -> bool:
    return t.machine is not None and lease.machine == t.machine.uuid


def remind(t: Telling) -> Reply:
    """The end comes near."""
    end = t.item.until or (t.lease.end if t.lease is not None else None)
    due: list[Part] = ["due ", When(end)] if end is not None else ["due soon"]
    waits = (
        ln(
            t.other,
            f" waits for {_them(t)}. At the end ",
            f"I ask when {t.vm} may restart ({t.usual}); running work is waited for.",
        )
        if (t.other_known)
        else ln(
            f"If nobody waits then, {'they stay' if t.many else 'it stays'} with you. If somebody does, I ask when {t.vm} may restart ({t.usual})."
        )
    )
    # While somebody waits a card is made longer once; a button that is refused is none.
    once = t.other_known and t.lease is not None and t.lease.extended > 0
    counts = dict(t.item.counts)
    heard = {"4h": not once, "1d": not once} | {word: works == 1 for word, works in counts.items()}
    never = not once and not any(counts.values()) and bool(counts)
    delays = next((word for word, works in t.item.counts if works == DELAYS), "")
    return say(
        head(t.cards, f" in {t.vm} {_are(t)} ", due, "."),
        waits,
        lifted_line(t.books, t.lease, t.policy, t.item.to) if any(heard.values()) else None,
        ln("It was made longer once already; longer works again when nobody waits.") if once else None,
        ln("It cannot be made longer now; ", command(t.policy, f"extend{t.ref}"), " says why.") if never else None,
        ln(
            "Longer makes others wait longer than they were told, so I do not offer it; ",
            command(t.policy, f"extend{t.ref} {delays}"),
            " is heard, and they are told.",
        )
        if delays and not any(heard.values())
        else None,
        ln("Without an answer just that happens. ", _without_a_word(t)),
        buttons=(
            about_button(f"Give {_them(t)} back when nothing runs", "release", t.ref, " when done"),
            about_button("4 hours longer", "extend", t.ref, " 4h") if heard["4h"] else None,
            about_button("1 day longer", "extend", t.ref, " 1d") if heard["1d"] else None,
        ),
    )


def over_time(t: Telling) -> Reply:
    """The end is reached and nobody waits."""
    return say(
        head(
            "Your time with ",
            t.cards,
            f" is over. Nobody waits, so {'they stay' if t.many else 'it stays'} with you for now.",
        ),
        ln(
            "As soon as somebody asks, yours is the first to go back: I then ask when ",
            f"{t.vm} may restart. Until then I say no more.",
        ),
        buttons=(about_button("1 day longer", "extend", t.ref, " 1d"), _give_back(t)),
    )


def returning(t: Telling) -> Reply:
    """It is to come off."""
    actor = t.lease is not None and t.item.who not in ("", t.item.to) and t.item.who == t.lease.ended_by
    who = (
        ln("Decided by ", t.other, ".") if actor else ln(t.other, f" waits for {_them(t)}.") if t.other_known else None
    )
    if t.to_holder:
        return say(
            head(t.cards, f" {'go' if t.many else 'goes'} back", why_tail(t.item.reason)),
            who,
            _comes_out(t),
            ln(f"From now on {'their' if t.many else 'its'} time no longer counts as yours.", _keep(t)),
            buttons=give_buttons(t.machine, clock_words(t.policy), t.label) if t.item.agreement is None else (MINE,),
        )
    return say(
        head(t.cards, f" {'go' if t.many else 'goes'} back from ", t.holder, f" ({t.vm})", why_tail(t.item.reason)),
        who if actor else None,
        ln("Likely out by ", When(t.item.until), ".")
        if t.item.until is not None
        else ln(f"When {'they come' if t.many else 'it comes'} out I do not know yet: no restart is agreed."),
    )


def _keep(t: Telling) -> list[Part]:
    """A card whose time is over (nobody took it away) can be kept while nobody else waits for it."""
    lease = t.books.leases.get(t.lease.label, t.lease) if t.lease is not None else None
    if t.lease is None or lease is None or t.lease.ended_by != BOT or not keep_offered(t.books, lease, t.now):
        return []
    ref = label_ref(t.lease.label)
    if not is_over(t.lease, t.now):
        return [" Still needed? While nobody was promised it: ", command(t.policy, f"keep {ref}"), "."]
    if t.lease.extended:
        return []
    return [" Still needed? While nobody was promised it, ", command(t.policy, f"extend {ref} 4h"), " may work."]


def _comes_out(t: Telling) -> LineOf:
    if t.item.until is not None:
        return ln(
            f"{'They come' if t.many else 'It comes'} out by ",
            When(t.item.until),
            f", in a restart of {t.vm} ({t.usual}).",
        )
    return ln(
        f"{'They come' if t.many else 'It comes'} out when {t.vm} restarts next ({t.usual}). When may it? ",
        _without_a_word(t),
    )


def _without_a_word(t: Telling) -> str:
    """What becomes of it without a word of its owners: of what went past somebody sooner than of others."""
    return without_a_word(t.policy, firm=t.lease is not None and passes(t.books, t.lease))


def ended(t: Telling) -> Reply:
    """Over as it should be, or for an outside cause."""
    if t.to_holder:
        return say(
            head(t.cards, f" {_are(t)} out of {t.vm}, thank you."),
            _unless_plain(t),
            buttons=(button("Ask for one again", _again(t)),),
        )
    return say(
        head(t.cards, f" {_are(t)} out of {t.vm} (", t.holder, ")."),
        _unless_plain(t),
        ln("Next: ", t.other, ".") if t.other_known else None,
    )


def _unless_plain(t: Telling) -> LineOf | None:
    """The reason, unless it is the ordinary one; somebody else's word with their name."""
    reason = t.item.reason
    if reason.strip().lower() in ("", "given back", "released"):
        return None
    by = t.lease.ended_by if t.lease is not None else BOT
    if by in (BOT, t.person):
        return because(reason, "")
    return ln("Taken back by ", t.named(by), why_tail(reason))


def _again(t: Telling) -> str:
    count = max(len(t.slots), 1)
    return f"request {count}{on_machine(t.machine)}"


def failed(t: Telling) -> Reply:
    """A device was lost."""
    vm = f" in {t.vm}" if t.machine is not None else ""
    first = head(t.cards, f"{vm} {_are(t)} lost", why_tail(t.item.reason))
    rests = "they rest" if t.many else "it rests"
    gone = bool(t.slots) and all(s in t.books.cards and not_there(t.books, s) for s in t.slots)  # by nobody's hand
    named = t.lease is not None and t.lease.state is LeaseState.RETURNING
    if not t.to_holder:
        return say(
            first,
            ln("Lent to ", t.holder, f". {'They rest' if t.many else 'It rests'} until an admin has looked.")
            if t.person
            else None,
            ln(names_lost(t.policy, t.vm, many=t.many)) if named else None,
        )
    return say(
        first,
        ln(f"Nobody took {_them(t)} out of {t.vm}. The admins know, and {rests} until one has looked.")
        if gone
        else ln(
            f"I did not take {_them(t)} out; somebody or something else did. The admins know, and {rests} until one has looked."
        ),
        ln(names_lost(t.policy, t.vm, many=t.many)) if named else None,
        buttons=(
            button("Ask for another one", _again(t), "primary"),
            button("Why?", f"why{' ' + t.slots[0] if t.slots else ''}"),
        ),
    )


def card_changed(t: Telling) -> Reply:
    """A card that is lent is given in another mode by its host now."""
    return say(
        head(t.cards, f" {'were' if t.many else 'was'} changed in vCenter", why_tail(t.item.reason)),
        ln("It goes on as it was lent. Nobody else gets it before it is given back; then I take the new way over."),
    )


def card_back(t: Telling) -> Reply:
    """A card that rested only because looks contradicted the books is back by itself: an edit of that message."""
    return say(
        head(
            t.cards, f" {'are' if t.many else 'is'} back: what I see agrees with my books again, three times in a row."
        ),
        because(t.item.reason, "It rested because of this: "),
    )


def card_aside(t: Telling) -> Reply:
    """A card rests."""
    holders: list[Lease] = [x for x in t.books.leases.values() if x.state in _SITS and set(x.slots) & set(t.slots)]
    return say(
        head(t.cards, f" {'rest' if t.many else 'rests'}", why_tail(t.item.reason)),
        ln("By ", t.other, ".") if t.other_known else None,
        ln(
            f"{'They stay' if t.many else 'It stays'} with ",
            listed(t.named(x.person) for x in holders[:3]),
            f" and {'rest once they come' if t.many else 'rests once it comes'} out.",
        )
        if holders
        else ln(
            "Lent to nobody until what I see agrees with my books again, three times in a row; then it comes back by itself. "
            if _heals(t)
            else "Lent to nobody until an admin says ",
            "Sooner: " if _heals(t) else "",
            command(t.policy, f"undrain {t.slots[0] if t.slots else 'CARD'}"),
            ".",
        ),
        buttons=(button(f"Lend {t.slots[0]} again", f"undrain {t.slots[0]}"),)
        if t.slots and t.item.to == ADMINS
        else (),
    )


def _heals(t: Telling) -> bool:
    """Whether it comes back by itself."""
    cards = [c for s in t.slots if (c := t.books.cards.get(s)) is not None]
    return bool(cards) and all(c.aside is not None and c.aside.heals for c in cards)


_SITS = (LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)


def difference(t: Telling) -> Reply:
    """Books, vCenter and guest differ."""
    return say(
        head("About ", t.cards, " my books and what I see do not agree", why_tail(t.item.reason)),
        ln(
            f"I touch nothing. {'They are' if t.many else 'It is'} lent to nobody else until three looks agree or an admin answers."
        ),
        ln("As I have it: lent to ", t.holder, f" in {t.vm}.") if t.person else None,
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )


def moved_away(t: Telling) -> Reply:
    """The machine of what is lent was moved to another host than its cards are in."""
    anew = t.lease is not None and t.lease.state is LeaseState.RESERVED  # its host was restarted before that
    back = f"gets {_them(t)} again" if anew else "goes on as before"
    return say(
        head(f"{t.vm} was moved to another host than ", t.cards, why_tail(t.item.reason)),
        ln(f"A machine only has cards of its own host: there it cannot work with {'them' if t.many else 'it'}."),
        ln("" if anew else "I touch nothing. ", f"{'They stay' if t.many else 'It stays'} lent to ", t.holder, "."),
        ln(f"Moved back, {t.vm} {back}. If it is to stay there, give {_them(t)} back and ask anew."),
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )


def stranger(t: Telling) -> Reply:
    """A card that nobody asked for sits on a registered machine."""
    return say(
        head(
            t.cards,
            f" {'sit' if t.many else 'sits'} in {t.vm}, and I did not put {_them(t)} there. Whose {'are they' if t.many else 'is it'}?",
        ),
        because(t.item.reason, ""),
        ln(
            f"I neither take {_them(t)} out nor lend {_them(t)}. If nobody answers, all stays as it is and counts as in use."
        ),
        ln(
            f"Yours? Then {_they(t)} {'get' if t.many else 'gets'} a number and an end like any other. Not needed? Then {_they(t)} {'come' if t.many else 'comes'} out in a restart that you agree to."
        ),
        buttons=(
            button("They are mine" if t.many else "It is mine", f"adopt {' '.join(t.slots[:4])}", "primary"),
            button(f"Not needed, take {_them(t)} out", f"letgo {' '.join(t.slots[:4])}"),
        )
        if t.slots
        else (),
    )


def stranger_over(t: Telling) -> Reply:
    """Whose such a card is was answered: an edit of the question."""
    many = len(t.slots) != 1
    named = slots_of(t.slots)
    if t.lease is not None and t.lease.state is LeaseState.RETURNING:
        return say(
            head(
                named,
                f" in {t.vm} {'are' if many else 'is'} not needed there, and {'come' if many else 'comes'} out in an agreed restart.",
            )
        )
    return say(head(named, f" in {t.vm} {'are' if many else 'is'} lent to ", t.holder, " now."))


def taken_over(t: Telling) -> Reply:
    """Cards that sat in machines before were lent to their owners, many at once."""
    counts, many = dict(t.item.counts), len(t.slots) != 1
    until: list[Part] = [" until ", When(t.item.until)] if t.item.until is not None else []
    if t.public or t.item.to == ADMINS:
        left = counts.get("left", 0)
        return say(
            head(
                t.other,
                f" took over {count_of(counts.get('cards', len(t.slots)), 'card')} that sat in machines before: lent to {count_of(counts.get('people', 1), 'person', 'people')}",
                until,
                ".",
            ),
            ln(
                f"{count_of(left, 'card')} {'is' if left == 1 else 'are'} left as {'it is' if left == 1 else 'they are'}."
            )
            if left
            else None,
        )
    where = f" in {t.vm}" if t.machine is not None else " in your machines"
    return say(
        head(slots_of(t.slots), where, f" {'are' if many else 'is'} lent to you", until, "."),
        ln(
            f"{'They were' if many else 'It was'} there before I came, so there is nothing to do. Nothing was restarted or changed."
        ),
        ln("I remind you before the end. Not needed any more? Then give back what you can; others may wait for it."),
        buttons=(
            MINE,
            button(f"Give {'them' if many else 'it'} back", f"release {' '.join(t.slots[:4])}")
            if 0 < len(t.slots) <= 4
            else None,
        ),
    )


def shared_setting(t: Telling) -> Reply:
    """Two machines' settings name one card."""
    return say(
        head("Two machines have ", t.cards, " in their settings", why_tail(t.item.reason)),
        ln(
            f"Only one machine can run with {_them(t)}; a copy of a machine brings its cards along. I lend {_them(t)} to nobody else."
        ),
        ln(f"Please take {_them(t)} out of the one that does not need {_them(t)} (in vCenter, with the machine off)."),
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )


def shared_over(t: Telling) -> Reply:
    """One machine at most has it now."""
    where: list[Part] = [" (", said(t.item.reason, 60), ")"] if t.item.reason else []
    return say(
        head("Only one machine has " if where else "No machine has ", t.cards, " in its settings now", *where, "."),
        ln("Nothing is left to do: that two had it is over."),
    )
