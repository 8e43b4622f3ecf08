//! The reasons for which kubelets let containers wait.

/// The image is not there.
pub(crate) const IMAGE: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// It could not be made or started.
pub(crate) const CREATE: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// It is about to start, as every container is for a while: volumes are mounted, images are pulled, the network is made. What goes wrong there
/// is told by events only.
pub(crate) const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];
