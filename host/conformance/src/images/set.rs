//! The set of images that a run needs.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_registry::{Reference, ReferenceError};
use serde::Serialize;

/// Maximum number of images in a set. The suite has some 40, and definitions have a few.
const MAX_IMAGES: usize = 10_000;

/// Images in the suite's list that cannot be copied: the prefix of their names, and the reason.
const NOT_COPIED: [(&str, &str); 4] = [
    ("invalid.registry.k8s.io/", "it does not exist, as its test requires"),
    ("invalid.com/", "it does not exist, as its test requires"),
    ("gcr.io/authenticated-image-pulling/", "it requires credentials of the Kubernetes project"),
    ("gcr.io/k8s-authenticated-test/", "it requires credentials of the Kubernetes project"),
];

/// An image and its users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// Name of the image with its registry.
    pub image: String,
    /// What needs the image: `plumbline`, `plugin NAME`, `suite`, `command line`.
    pub used_by: Vec<String>,
}

/// An image that is not part of the set although it is referenced.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftOut {
    /// Name of the image.
    pub image: String,
    /// Why it is left out.
    pub reason: String,
}

/// Error while building a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// A string is not a valid image name.
    #[error("{used_by} has the invalid image `{image}`: {cause}")]
    Name {
        /// The string.
        image: String,
        /// What references it.
        used_by: String,
        /// What is wrong with it.
        cause: ReferenceError,
    },
    /// There are too many images.
    #[error("there are more than {MAX_IMAGES} images")]
    TooMany,
}

/// The images of a run, sorted and unique.
#[derive(Debug, Clone, Default)]
pub struct ImageSet {
    images: BTreeMap<String, BTreeSet<String>>,
    left_out: BTreeSet<LeftOut>,
}

impl ImageSet {
    /// Adds an image that `used_by` needs.
    pub fn add(&mut self, image: &str, used_by: &str) -> Result<(), SetError> {
        let reference = Reference::of_image(image).map_err(|cause| SetError::Name {
            image: plumbline_core::text::excerpt(image, 255),
            used_by: used_by.to_owned(),
            cause,
        })?;
        // The name has an explicit tag, unless it has a digest.
        let name = if reference.digest().is_some() { reference.bare() } else { reference.tagged().bare() };
        if let Some((_, reason)) = NOT_COPIED.iter().find(|(beginning, _)| name.starts_with(beginning)) {
            self.left_out.insert(LeftOut { image: name, reason: (*reason).to_owned() });
            return Ok(());
        }
        if self.images.len() >= MAX_IMAGES {
            return Err(SetError::TooMany);
        }
        self.images.entry(name).or_default().insert(used_by.to_owned());
        Ok(())
    }

    /// Adds the images of a list with one image per line. Empty lines and lines that start with `#`
    /// are skipped.
    pub fn add_list(&mut self, text: &str, used_by: &str) -> Result<(), SetError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.take(MAX_IMAGES + 1).try_for_each(|line| self.add(line, used_by))
    }

    /// Returns the images, sorted by name.
    pub fn images(&self) -> Vec<Wanted> {
        let wanted = |(image, used_by): (&String, &BTreeSet<String>)| Wanted {
            image: image.clone(),
            used_by: used_by.iter().cloned().collect(),
        };
        self.images.iter().map(wanted).collect()
    }

    /// Returns the images that are left out, with the reasons.
    pub fn left_out(&self) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_each_image_once_with_all_that_need_it() {
        let mut set = ImageSet::default();
        set.add("busybox", "plugin a").unwrap();
        set.add("docker.io/library/busybox:latest", "plugin b").unwrap();
        set.add_list(
            "\n# of the suite\nregistry.k8s.io/pause:3.9 \ninvalid.registry.k8s.io/invalid/alpine:3.1\n",
            "suite",
        )
        .unwrap();
        let images: Vec<_> =
            set.images().into_iter().map(|one| format!("{}: {}", one.image, one.used_by.join(", "))).collect();
        assert_eq!(
            images,
            ["docker.io/library/busybox:latest: plugin a, plugin b", "registry.k8s.io/pause:3.9: suite"]
        );
        let left: Vec<_> = set.left_out().map(|one| one.image.as_str()).collect();
        assert_eq!(left, ["invalid.registry.k8s.io/invalid/alpine:3.1"]);
    }

    #[test]
    fn an_invalid_image_is_rejected_with_the_reason() {
        let message = ImageSet::default().add_list("Flag --x is deprecated", "the list").unwrap_err().to_string();
        assert!(message.contains("the list has the invalid image `Flag --x is deprecated`"), "{message}");
        let many: String = (0..=MAX_IMAGES).map(|at| format!("a.b/c:{at}\n")).collect();
        assert_eq!(ImageSet::default().add_list(&many, "x"), Err(SetError::TooMany));
    }
}
