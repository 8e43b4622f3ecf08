package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The size of a volume for which no size is requested.
const defaultBytes = 1 << 20

// A driver with the volumes that it created. Their IDs are the names of their directories.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	dir string
	// Whether a request for an existing volume of another size succeeds, which CSI forbids.
	ignoresCapacity bool
	mutex           sync.Mutex
	volumes         map[string]int64
}

func newDriver(dir string, ignoresCapacity bool) *driver {
	return &driver{dir: dir, ignoresCapacity: ignoresCapacity, volumes: map[string]int64{}}
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "directories.plumbline.dev", VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	controller := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	capability := &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: controller}}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{capability}}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	rpc := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	capability := &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{capability}}, nil
}

func (d *driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if request.GetName() == "" || len(request.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "name and volume capabilities are required")
	}
	// A name may have characters that a file name cannot have.
	sum := sha256.Sum256([]byte(request.GetName()))
	id := hex.EncodeToString(sum[:])
	bytes := max(request.GetCapacityRange().GetRequiredBytes(), defaultBytes)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	existing, exists := d.volumes[id]
	switch {
	case exists && existing != bytes && !d.ignoresCapacity:
		return nil, status.Error(codes.AlreadyExists, "a volume of this name has another size")
	case exists:
		bytes = existing
	default:
		if err := os.MkdirAll(filepath.Join(d.dir, id), 0o755); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		d.volumes[id] = bytes
	}
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: id, CapacityBytes: bytes}}, nil
}

func (d *driver) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if request.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is required")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, exists := d.volumes[request.GetVolumeId()]; exists {
		if err := os.RemoveAll(filepath.Join(d.dir, request.GetVolumeId())); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		delete(d.volumes, request.GetVolumeId())
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (d *driver) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if request.GetVolumeId() == "" || len(request.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume ID and capabilities are required")
	}
	if err := d.find(request.GetVolumeId()); err != nil {
		return nil, err
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.GetVolumeCapabilities()}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "node"}, nil
}

// NodePublishVolume links the target to the directory of the volume. A mount would need root.
func (d *driver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if request.GetVolumeId() == "" || request.GetTargetPath() == "" || request.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "volume ID, target path and capability are required")
	}
	if err := d.find(request.GetVolumeId()); err != nil {
		return nil, err
	}
	err := os.Symlink(filepath.Join(d.dir, request.GetVolumeId()), request.GetTargetPath())
	if err != nil && !os.IsExist(err) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if request.GetVolumeId() == "" || request.GetTargetPath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID and target path are required")
	}
	if err := os.Remove(request.GetTargetPath()); err != nil && !os.IsNotExist(err) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// find returns the volume with this ID, or an error if it does not exist.
func (d *driver) find(id string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, exists := d.volumes[id]; !exists {
		return status.Error(codes.NotFound, "volume not found")
	}
	return nil
}
