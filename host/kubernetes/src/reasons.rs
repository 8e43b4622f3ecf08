//! The reasons of the kubelet for waiting containers.

/// The image is not available.
pub(crate) const IMAGE: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// The container could not be created or started.
pub(crate) const CREATE: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// The container is about to start, which is a normal phase: volumes are mounted, images are
/// pulled, and the network is set up.
///
/// Problems in this phase are reported only by events.
pub(crate) const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
