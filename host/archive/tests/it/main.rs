//! Tests with archives made by Plumbline, by other tools, and by attackers.

// `cfg(test)` lets the lints recognize these modules as tests.
#[cfg(test)]
mod damage;
#[cfg(test)]
mod full;
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
