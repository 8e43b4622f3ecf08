//! Archives as they come: made by us, by other tools, and by people who mean harm.

// `cfg(test)` is what tells the lints that these are tests.
#[cfg(test)]
mod damage;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod make;
#[cfg(test)]
mod pack;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod results;
#[cfg(test)]
mod samples;
