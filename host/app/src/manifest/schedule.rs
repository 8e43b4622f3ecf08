//! Options of scheduled runs.

use plumbline_core::config::Config;
use plumbline_core::schedule::{Cron, Schedule, ScheduleZone};

use crate::error::AppError;
use crate::history::{ARCHIVES, KeepOptions};

/// Options of scheduled runs. Options that are not set keep the value of the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Schedule options")]
pub struct ScheduleOptions {
    /// Create a CronJob that starts runs at these times, such as `0 3 * * *`, and not a single run
    #[arg(long, value_name = "CRON", group = ARCHIVES)]
    pub schedule: Option<Cron>,
    /// Time zone of the schedule, such as `Europe/Paris` [default: Etc/UTC]
    #[arg(long, value_name = "ZONE", requires = "schedule")]
    pub time_zone: Option<ScheduleZone>,
    /// Which archives of earlier runs stay on the volume.
    #[command(flatten)]
    pub keep: KeepOptions,
}

impl ScheduleOptions {
    /// Applies the options to a configuration.
    pub fn apply(&self, config: &mut Config) {
        if let Some(cron) = self.schedule.clone() {
            let zone = self.time_zone.clone().unwrap_or_default();
            config.plumbline.schedule = Some(Schedule { cron, zone, keep: self.keep.limits() });
        }
    }
}

/// Rejects the configuration of scheduled runs for a run that starts at once.
pub(crate) fn not_scheduled(config: &Config) -> Result<(), AppError> {
    match &config.plumbline.schedule {
        None => Ok(()),
        Some(schedule) => Err(AppError::usage(format!(
            "the configuration has the schedule `{}`, but this command starts one run at once",
            schedule.cron
        ))
        .hint("create the schedule with `plumbline gen`, and `kubectl apply` its output")),
    }
}
