// A vSphere client that shares no code with the stand-in vCenter: it walks the inventory, reads devices, gives a VM a card,
// starts it, stops it through its guest and takes the card off again, changes memory reservations, power-cycles VMs, and
// asks for privileges and attributes. Prints one line of JSON with what it saw; ends with 1 at any surprise.
// Built by test_vcenter_govmomi.py from govmomi as Debian installs it. The password comes on standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func main() {
	address := flag.String("url", "", "of the API")
	user := flag.String("user", "", "login")
	ca := flag.String("ca", "", "PEM file that is trusted")
	name := flag.String("vm", "vm-r", "VM to work on")
	second := flag.String("second", "vm-train", "VM to power-cycle beside it")
	flag.Parse()
	password, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err, "password")

	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	where, err := url.Parse(*address)
	check(err, "url")
	plain := soap.NewClient(where, false)
	check(plain.SetRootCAs(*ca), "ca")
	check((&vim25.Client{Client: plain}).UseServiceVersion(), "version")
	client, err := vim25.NewClient(ctx, plain)
	check(err, "client")
	manager := session.NewManager(client)
	wrong := manager.Login(ctx, url.UserPassword(*user, "wrong"))
	check(manager.Login(ctx, url.UserPassword(*user, strings.TrimSpace(password))), "login")
	who, err := manager.UserSession(ctx)
	check(err, "session")

	finder := find.NewFinder(client, true)
	datacenter, err := finder.DefaultDatacenter(ctx)
	check(err, "datacenter")
	finder.SetDatacenter(datacenter)
	all, err := finder.VirtualMachineList(ctx, "*")
	check(err, "list")
	vm, err := finder.VirtualMachine(ctx, *name)
	check(err, "find")
	host, err := finder.DefaultHostSystem(ctx)
	check(err, "host")

	var props mo.VirtualMachine
	collector := property.DefaultCollector(client)
	check(collector.RetrieveOne(ctx, vm.Reference(), []string{"config", "runtime", "environmentBrowser"}, &props), "read")
	hostRef := host.Reference()
	target, err := methods.QueryConfigTarget(ctx, client, &types.QueryConfigTarget{This: props.EnvironmentBrowser, Host: &hostRef})
	check(err, "config target")
	offered := target.Returnval.PciPassthrough[0].GetVirtualMachinePciPassthroughInfo()
	card := &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{
		Key: -1,
		Backing: &types.VirtualPCIPassthroughDeviceBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: offered.PciDevice.DeviceName},
			Id:                             offered.PciDevice.Id,
			DeviceId:                       fmt.Sprintf("%x", uint16(offered.PciDevice.DeviceId)),
			SystemId:                       offered.SystemId,
			VendorId:                       offered.PciDevice.VendorId,
		},
	}}
	lock := true
	spec := types.VirtualMachineConfigSpec{
		ChangeVersion:                props.Config.ChangeVersion,
		MemoryReservationLockedToMax: &lock,
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{
			&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card},
		},
	}
	change, err := vm.Reconfigure(ctx, spec)
	check(err, "reconfigure")
	check(change.Wait(ctx), "reconfigure task")
	again, err := vm.Reconfigure(ctx, spec) // the changeVersion is an old one now
	check(err, "reconfigure again")
	conflict := again.Wait(ctx)

	devices, err := vm.Device(ctx)
	check(err, "devices")
	cards := devices.SelectByType((*types.VirtualPCIPassthrough)(nil))
	start, err := vm.PowerOn(ctx)
	check(err, "power on")
	check(start.Wait(ctx), "power on task")
	check(vm.WaitForPowerState(ctx, types.VirtualMachinePowerStatePoweredOn), "on")
	early := vm.ShutdownGuest(ctx) // Tools do not run yet
	check(property.Wait(ctx, collector, vm.Reference(), []string{"guest.toolsRunningStatus"}, func(changes []types.PropertyChange) bool {
		return changes[0].Val == "guestToolsRunning"
	}), "tools")
	check(vm.ShutdownGuest(ctx), "shutdown")
	check(vm.WaitForPowerState(ctx, types.VirtualMachinePowerStatePoweredOff), "off")
	off, err := vm.PowerOff(ctx)
	check(err, "power off")
	repeated := off.Wait(ctx)
	check(vm.RemoveDevice(ctx, false, cards...), "remove")

	views := view.NewManager(client)
	container, err := views.CreateContainerView(ctx, client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	check(err, "view")
	var machines []mo.VirtualMachine
	check(container.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name", "runtime.powerState"}, &machines), "retrieve")
	kinds, deepest := walk(ctx, client, views)
	devicesOf := map[string][]string{}
	for _, found := range all {
		list, err := found.Device(ctx)
		check(err, "devices of "+found.Name())
		devicesOf[found.Name()] = describe(list)
	}
	reservations := reserve(ctx, vm, collector)
	cycles := []string{}
	for _, found := range all {
		if found.Name() == *name || found.Name() == *second {
			cycles = append(cycles, cycle(ctx, found)...)
		}
	}
	authorities := object.NewAuthorizationManager(client)
	may, err := authorities.HasPrivilegeOnEntity(ctx, vm.Reference(), who.Key, []string{"VirtualMachine.Interact.PowerOn", "VirtualMachine.Inventory.Delete"})
	check(err, "privileges")
	fields, err := object.GetCustomFieldsManager(client)
	check(err, "custom fields")
	_, refused := fields.Add(ctx, "of-go", "VirtualMachine", nil, nil)
	path, err := object.NewSearchIndex(client).FindByInventoryPath(ctx, vm.InventoryPath)
	check(err, "inventory path")
	now, err := methods.GetCurrentTime(ctx, client)
	check(err, "time")
	check(manager.Logout(ctx), "logout")
	_, err = methods.GetCurrentTime(ctx, client)

	out, _ := json.Marshal(map[string]interface{}{
		"api":      client.ServiceContent.About.ApiVersion,
		"user":     who.UserName,
		"wrong":    fault(wrong),
		"found":    len(all),
		"machines": len(machines),
		"card":     cards[0].GetVirtualDevice().Backing.(*types.VirtualPCIPassthroughDeviceBackingInfo).Id,
		"key":      cards[0].GetVirtualDevice().Key,
		"label":    devices.Name(cards[0]),
		"conflict": fault(conflict),
		"early":    fault(early),
		"repeated": fault(repeated),
		"time":     !now.IsZero(),
		"after":    fault(err),
		"vm":       object.NewReference(client, vm.Reference()).Reference().Type,
		"version":  client.Version,
		"kinds":    kinds,
		"deepest":  deepest,
		"devices":  devicesOf,
		"reserved": reservations,
		"cycles":   cycles,
		"may":      may,
		"refused":  fault(refused),
		"same":     path.Reference() == vm.Reference(),
	})
	fmt.Println(string(out))
}

// walk counts the objects below the root by their type, and says how many steps the lowest one is below it.
func walk(ctx context.Context, client *vim25.Client, views *view.Manager) (map[string]int, int) {
	everything, err := views.CreateContainerView(ctx, client.ServiceContent.RootFolder, nil, true)
	check(err, "view of everything")
	var entities []mo.ManagedEntity
	check(everything.Retrieve(ctx, nil, []string{"name", "parent"}, &entities), "everything")
	kinds, above := map[string]int{}, map[types.ManagedObjectReference]types.ManagedObjectReference{}
	for _, one := range entities {
		kinds[one.Self.Type]++
		if one.Parent != nil {
			above[one.Self] = *one.Parent
		}
	}
	deepest := 0
	for _, one := range entities {
		steps, at := 0, one.Self
		for at != client.ServiceContent.RootFolder {
			next, known := above[at]
			if !known {
				check(fmt.Errorf("%v hangs below nothing", at), "walk")
			}
			at, steps = next, steps+1
		}
		if steps > deepest {
			deepest = steps
		}
	}
	return kinds, deepest
}

// describe names the PCI devices in a list by what they are backed by.
func describe(list object.VirtualDeviceList) []string {
	told := []string{}
	for _, device := range list {
		switch backing := device.GetVirtualDevice().Backing.(type) {
		case *types.VirtualPCIPassthroughDeviceBackingInfo:
			told = append(told, "fixed "+backing.Id)
		case *types.VirtualPCIPassthroughDynamicBackingInfo:
			told = append(told, "dynamic "+backing.CustomLabel)
		case *types.VirtualPCIPassthroughVmiopBackingInfo:
			told = append(told, "vgpu "+backing.Vgpu)
		}
	}
	return told
}

// reserve sets a memory reservation, takes it back, and says what was read after each.
func reserve(ctx context.Context, vm *object.VirtualMachine, collector *property.Collector) []int64 {
	seen := []int64{}
	unlocked := false
	for _, size := range []int64{4096, 0} {
		wanted := size
		task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{
			MemoryReservationLockedToMax: &unlocked,
			MemoryAllocation:             &types.ResourceAllocationInfo{Reservation: &wanted},
		})
		check(err, "reserve")
		check(task.Wait(ctx), "reserve task")
		var props mo.VirtualMachine
		check(collector.RetrieveOne(ctx, vm.Reference(), []string{"config.memoryAllocation"}, &props), "reservation")
		seen = append(seen, *props.Config.MemoryAllocation.Reservation)
	}
	return seen
}

// cycle starts a VM and takes its power away, and says in which states it was.
func cycle(ctx context.Context, vm *object.VirtualMachine) []string {
	states := []string{}
	for _, verb := range []func(context.Context) (*object.Task, error){vm.PowerOn, vm.PowerOff} {
		task, err := verb(ctx)
		check(err, "cycle")
		check(task.Wait(ctx), "cycle task")
		state, err := vm.PowerState(ctx)
		check(err, "state")
		states = append(states, string(state))
	}
	return states
}

// fault names the type of the fault in an error.
func fault(err error) string {
	if err == nil {
		return ""
	}
	if soap.IsSoapFault(err) {
		return fmt.Sprintf("%T", soap.ToSoapFault(err).VimFault())
	}
	if failed, ok := err.(task.Error); ok {
		return fmt.Sprintf("%T", failed.Fault())
	}
	return err.Error()
}
