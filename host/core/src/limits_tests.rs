use super::*;

#[test]
fn the_defaults_of_the_pod_and_of_modules_agree() {
    let modules = module_memory(POD_MEMORY);
    assert_eq!(modules, 768 << 20);
    assert_eq!(modules / ModuleLimits::default().memory, 3);
    // In a small pod, modules get half of the memory and everything else the other half.
    assert_eq!(module_memory(64 << 20), 32 << 20);
}
