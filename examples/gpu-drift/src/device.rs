//! Reads a PCI device from sysfs.

use plumbline_sdk::Context;
use plumbline_sdk::context::FileError;

/// The class of GPUs with an output, and of the display of a management controller.
const VGA: &str = "VGA controller";
/// The vendors of GPUs among them: AMD, NVIDIA, Intel.
const VENDORS: [&str; 3] = ["0x1002", "0x10de", "0x8086"];

/// A GPU or another accelerator.
pub(crate) struct Device {
    class: &'static str,
    vendor: String,
    device: String,
    /// `None` if the platform has one NUMA node only, or does not say.
    pub(crate) numa_node: Option<u32>,
    pub(crate) driver: Option<String>,
    /// `None` if the driver is part of the kernel, and has no version of its own.
    pub(crate) driver_version: Option<String>,
    link_speed: Option<String>,
    link_width: Option<String>,
}

impl Device {
    /// Reads the device in a directory of sysfs. Returns `None` if it is of another class.
    pub(crate) fn read(context: &mut Context, directory: &str) -> Result<Option<Self>, FileError> {
        let mut file = |name: &str| fact(context, directory, name);
        let (Some(class), vendor) = (class_name(&file("class")?), file("vendor")?) else { return Ok(None) };
        if class == VGA && !VENDORS.contains(&vendor.as_str()) {
            return Ok(None);
        }
        let uevent = file("uevent")?;
        let mut device = Self {
            class,
            vendor,
            device: file("device")?,
            // The kernel writes -1 if it does not know the NUMA node.
            numa_node: file("numa_node")?.parse().ok(),
            driver: uevent.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned),
            driver_version: None,
            link_speed: optional(file("current_link_speed"))?,
            link_width: optional(file("current_link_width"))?,
        };
        if let Some(driver) = &device.driver {
            device.driver_version = optional(fact(context, &format!("/sys/module/{driver}"), "version"))?;
        }
        Ok(Some(device))
    }

    /// Returns what is known of the device, by name.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let numa = self.numa_node.map_or_else(|| "none".to_owned(), |node| node.to_string());
        let all = [
            ("class", Some(self.class.to_owned())),
            ("vendor", Some(self.vendor.clone())),
            ("device", Some(self.device.clone())),
            ("numa-node", Some(numa)),
            ("driver", self.driver.clone()),
            ("driver-version", self.driver_version.clone()),
            ("link-speed", self.link_speed.clone()),
            ("link-width", self.link_width.clone()),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

fn fact(context: &mut Context, directory: &str, name: &str) -> Result<String, FileError> {
    Ok(context.read_to_string(&format!("{directory}/{name}"))?.trim().to_owned())
}

/// Returns a fact that not every device has.
fn optional(read: Result<String, FileError>) -> Result<Option<String>, FileError> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(FileError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the name of a class of GPUs or accelerators. The number has the class, the subclass and
/// the programming interface: `0x030200`.
fn class_name(number: &str) -> Option<&'static str> {
    match number.get(..6)? {
        "0x0300" => Some(VGA),
        "0x0302" => Some("3D controller"),
        "0x0380" => Some("display controller"),
        "0x1200" => Some("processing accelerator"),
        _ => None,
    }
}
