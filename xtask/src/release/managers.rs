//! The manifests of package managers that download the archives: krew, for `kubectl plumbline`, and
//! Homebrew.

use std::fmt::Write as _;

use super::{REPOSITORY, VERSION, archive};
use crate::program::Platform;

/// Returns the URL of a published file.
fn url(name: &str) -> String {
    format!("{REPOSITORY}/releases/download/v{VERSION}/{name}")
}

/// Returns krew's manifest for archives with these digests.
pub(super) fn krew(archives: &[(Platform, String)]) -> String {
    let mut text = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2\n\
         kind: Plugin\n\
         metadata:\n\
         \x20 name: plumbline\n\
         spec:\n\
         \x20 version: v{VERSION}\n\
         \x20 homepage: {REPOSITORY}\n\
         \x20 shortDescription: Run checks and the conformance suite\n\
         \x20 description: |\n\
         \x20   Runs checks as plugins on a cluster, and turns their output into one verdict\n\
         \x20   and one archive. Runs the conformance suite, and plugins written for Sonobuoy.\n\
         \x20   Examples:\n\
         \x20     kubectl plumbline run -p host-facts --wait --retrieve\n\
         \x20     kubectl plumbline conformance run --mode quick\n\
         \x20 platforms:\n"
    );
    for (platform, digest) in archives {
        let _ = write!(
            text,
            "  - selector:\n\
             \x20     matchLabels:\n\
             \x20       os: linux\n\
             \x20       arch: {}\n\
             \x20   uri: {}\n\
             \x20   sha256: {digest}\n\
             \x20   files:\n\
             \x20   - from: \"*/plumbline\"\n\
             \x20     to: .\n\
             \x20   - from: \"*/LICENSE\"\n\
             \x20     to: .\n\
             \x20   bin: plumbline\n",
            platform.architecture,
            url(&archive::name(*platform)),
        );
    }
    text
}

/// Returns Homebrew's formula for archives with these digests.
pub(super) fn homebrew(archives: &[(Platform, String)]) -> String {
    let mut text = format!(
        "class Plumbline < Formula\n\
         \x20 desc \"Run checks on a Kubernetes cluster or on one machine\"\n\
         \x20 homepage \"{REPOSITORY}\"\n\
         \x20 version \"{VERSION}\"\n\
         \x20 license \"Apache-2.0\"\n\n\
         \x20 depends_on :linux\n\n"
    );
    for (platform, digest) in archives {
        let _ = write!(
            text,
            "  on_{} do\n    url \"{}\"\n    sha256 \"{digest}\"\n  end\n\n",
            if platform.architecture == "amd64" { "intel" } else { "arm" },
            url(&archive::name(*platform)),
        );
    }
    text.push_str(
        "  def install
    bin.install \"plumbline\"
    bash_completion.install \"completions/plumbline.bash\" => \"plumbline\"
    zsh_completion.install \"completions/_plumbline\"
    fish_completion.install \"completions/plumbline.fish\"
    man1.install Dir[\"man/man1/*.1\"]
  end

  test do
    assert_equal \"v#{version}\", shell_output(\"#{bin}/plumbline version --short\").strip
  end
end
",
    );
    text
}
