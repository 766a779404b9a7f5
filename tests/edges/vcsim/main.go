// A small vcsim for the wire part of the Lab contract: TLS on loopback, one cluster with one GPU host, API 8.0.3.0.
// Built by build.py from govmomi's simulator (Debian's golang-github-vmware-govmomi-dev, GOPATH mode). It checks no rule
// of passthrough; it is a second, independently written reader of what the driver sends.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

var addresses = []string{"0000:3b:00.0", "0000:5e:00.0"}

func card(id string) types.HostPciDevice {
	return types.HostPciDevice{Id: id, ClassId: 0x0302, VendorId: 0x10de, DeviceId: 0x1eb8, SubVendorId: 0x10de,
		SubDeviceId: 0x12a2, VendorName: "NVIDIA Corporation", DeviceName: "TU104GL [Tesla T4]"}
}

// browser offers the cards, which vcsim's own environment browser does not know.
type browser struct{ mo.EnvironmentBrowser }

func (b *browser) QueryConfigTarget(req *types.QueryConfigTarget) soap.HasFault {
	target := &types.ConfigTarget{}
	for _, id := range addresses {
		target.PciPassthrough = append(target.PciPassthrough,
			&types.VirtualMachinePciPassthroughInfo{PciDevice: card(id), SystemId: "5f000000-aaaa-bbbb-cccc-000000000001"})
	}
	return &methods.QueryConfigTargetBody{Res: &types.QueryConfigTargetResponse{Returnval: target}}
}

func main() {
	cert := flag.String("cert", "", "PEM file of the server's certificate and key")
	idle := flag.Duration("idle", 30*time.Minute, "idle time after which a session ends")
	user, password := flag.String("user", "bot", "login"), flag.String("password", "", "its password")
	flag.Parse()
	pair, err := tls.LoadX509KeyPair(*cert, *cert)
	if err != nil {
		log.Fatal(err)
	}
	simulator.SessionIdleTimeout = *idle
	model := simulator.VPX()
	model.Host, model.Cluster, model.ClusterHost, model.Machine, model.Autostart = 0, 1, 1, 2, false
	model.ServiceContent.About.ApiVersion = "8.0.3.0"
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	defer model.Remove()
	for _, one := range simulator.Map.All("HostSystem") {
		host := one.(*simulator.HostSystem)
		hardware, config := *host.Hardware, *host.Config
		for _, id := range addresses {
			hardware.PciDevice = append(hardware.PciDevice, card(id))
			config.PciPassthruInfo = append(config.PciPassthruInfo, &types.HostPciPassthruInfo{Id: id, DependentDevice: id,
				PassthruEnabled: true, PassthruCapable: true, PassthruActive: true})
		}
		host.Hardware, host.Config = &hardware, &config
	}
	for _, one := range simulator.Map.All("VirtualMachine") {
		vm := one.(*simulator.VirtualMachine)
		vm.Guest.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		vm.Config.Firmware = string(types.GuestOsDescriptorFirmwareTypeEfi)
		own := &browser{}
		own.Self = vm.EnvironmentBrowser
		simulator.Map.Put(own)
	}
	model.Service.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(*user, *password)}
	server := model.Service.NewServer()
	defer server.Close()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"host": server.URL.Host})
	_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started it closes its end
}
