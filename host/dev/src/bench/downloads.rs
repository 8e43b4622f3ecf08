//! Measures how long the command lines of Plumbline and Sonobuoy take to download the same archive
//! from a real node.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use plumbline_dev::Result;
use serde_json::json;

use crate::bench::cluster::ClusterOptions;
use crate::bench::tools::{median, plumbline, print_table};

/// Size of the result, which cannot be compressed.
const SIZE: &str = "2GB";
const OUT: &str = "out";
const NAMESPACE: &str = "plumbline-bench-downloads";

/// Runs a plugin with a large result, and downloads its archive `runs` times with each program.
pub(crate) fn measure(args: &ClusterOptions, runs: usize) -> Result<()> {
    let what = "downloads by both command lines";
    let (Some(kubeconfig), Some(sonobuoy), Some(image)) = (&args.kubeconfig, &args.sonobuoy, &args.image) else {
        println!("\nskipped: {what}: it needs `--kubeconfig FILE`, `--sonobuoy FILE` and `--image NAME`");
        return Ok(());
    };
    let Some(program) = plumbline(what, args.program.as_deref())? else { return Ok(()) };
    let dir = tempfile::tempdir()?;
    fs::write(dir.path().join("large.yaml"), definition(image))?;
    let user = User { dir: dir.path(), kubeconfig };
    let image = ["--image", image, "--image-pull-policy", "IfNotPresent"];
    let measured = user.call(&program, &[&["run", "-p", "large.yaml", "--wait"][..], &image].concat()).and_then(|_| {
        downloads(&user, &[("Plumbline", program.as_path()), ("Sonobuoy", sonobuoy.as_path())], runs.max(1))
    });
    // The run goes even if a download has failed.
    let deleted = user.call(&program, &["delete", "--wait", "--yes"]);
    let (rows, bytes) = measured?;
    deleted?;
    let title = format!("Download of {} MB from Plumbline's aggregator (median of {runs})", bytes / 1_000_000);
    print_table(&title, ["command line", "time", "rate"], &rows);
    Ok(())
}

/// Returns the definition of a plugin with a large result.
fn definition(image: &str) -> String {
    let config = json!({"driver": "Job", "plugin-name": "large", "result-format": "raw"});
    let size = format!("--bytes={SIZE}");
    let spec = json!({
        "name": "plugin", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["/plumbline-dev", "plugin"],
        "args": ["--format", "raw", "--archive", size],
        "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
    });
    json!({"sonobuoy-config": config, "spec": spec}).to_string()
}

/// Returns a row for each program, and the size of the archive.
fn downloads(user: &User<'_>, programs: &[(&str, &Path)], runs: usize) -> Result<(Vec<[String; 3]>, u64)> {
    let mut times = vec![Vec::new(); programs.len()];
    let mut sizes = Vec::new();
    for _ in 0..runs {
        for ((_, program), times) in programs.iter().zip(&mut times) {
            let (seconds, bytes) = user.download(program)?;
            times.push(seconds);
            sizes.push(bytes);
        }
    }
    sizes.dedup();
    let &[bytes] = sizes.as_slice() else {
        return Err(format!("the downloads have different sizes: {sizes:?}").into());
    };
    let row = |((name, _), times): (&(&str, &Path), &Vec<f64>)| {
        let seconds = median(times);
        [(*name).to_owned(), format!("{seconds:.1} s"), format!("{:.0} MB/s", bytes as f64 / 1e6 / seconds)]
    };
    Ok((programs.iter().zip(&times).map(row).collect(), bytes))
}

struct User<'a> {
    dir: &'a Path,
    kubeconfig: &'a Path,
}

impl User<'_> {
    /// Runs a program in the namespace of the run.
    fn call(&self, program: &Path, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(program);
        command.args(args).args(["-n", NAMESPACE]).current_dir(self.dir);
        let output = command.env("KUBECONFIG", self.kubeconfig).env("HOME", self.dir).output()?;
        if output.status.success() {
            return Ok(output);
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("`{} {}` failed: {error}", program.display(), args.join(" ")).into())
    }

    /// Downloads the archive. Returns the time in seconds, and the size in bytes.
    fn download(&self, program: &Path) -> Result<(f64, u64)> {
        let out = self.dir.join(OUT);
        fs::create_dir(&out)?;
        let start = Instant::now();
        self.call(program, &["retrieve", OUT])?;
        let seconds = start.elapsed().as_secs_f64();
        let mut bytes = 0;
        for entry in fs::read_dir(&out)? {
            bytes += entry?.metadata()?.len();
        }
        fs::remove_dir_all(&out)?;
        eprintln!("{}: {bytes} bytes in {seconds:.1} s", program.display());
        Ok((seconds, bytes))
    }
}
