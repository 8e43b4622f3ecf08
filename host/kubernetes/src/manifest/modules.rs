//! The ConfigMaps with the modules of bundles. They are split on the user's machine, and joined in
//! the aggregator.

use k8s_openapi::ByteString;
use plumbline_core::Config;
use serde_json::{Map, Value, json};

use super::error::ManifestError;
use super::options::ManifestPlugin;
use crate::chunks::{CHUNK, ChunkError, MAX_MODULES, MAX_PACKED_BYTES, chunks_of};
use crate::names;
use crate::parts::object;

pub(super) fn pack(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    let count = plugins.iter().map(|plugin| plugin.modules.len()).sum();
    if count > MAX_MODULES {
        return Err(ManifestError::TooManyModules(count));
    }
    let mut maps: Vec<Map<String, Value>> = Vec::new();
    let (mut filled, mut total) = (CHUNK, 0);
    for plugin in plugins {
        for (file, bytes) in &plugin.modules {
            for (key, chunk) in chunks_of(&plugin.definition.name, file, bytes)? {
                total += chunk.len();
                if filled + chunk.len() > CHUNK {
                    maps.push(Map::new());
                    filled = 0;
                }
                filled += chunk.len();
                if let Some(map) = maps.last_mut() {
                    map.insert(key, json!(ByteString(chunk)));
                }
            }
            if total > MAX_PACKED_BYTES {
                return Err(ChunkError::TooLarge(total).into());
            }
        }
    }
    let objects = maps.into_iter().enumerate().map(|(at, data)| {
        let name = format!("{}-{at}", names::MODULES_CONFIG_MAP);
        object(&config.namespace, "v1", "ConfigMap", &name, json!({"binaryData": data}))
    });
    Ok(objects.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use plumbline_core::Definition;
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;
    use crate::chunks::unpack_modules;

    fn plugin(name: &str, modules: Vec<(String, Vec<u8>)>) -> ManifestPlugin {
        let yaml = format!("sonobuoy-config: {{driver: Job, plugin-name: {name}}}\nspec: {{image: i}}");
        ManifestPlugin { definition: Arc::new(Definition::parse(&yaml).unwrap().definition), modules }
    }

    /// Creates the directory as the kubelet does, with files in a hidden directory and links to
    /// them.
    fn mounted(maps: &[Value]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("..2026_01_01");
        std::fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink(&data, dir.path().join("..data")).unwrap();
        for map in maps {
            assert!(map.to_string().len() < 1 << 20, "an API server refuses it");
            for (key, value) in map["binaryData"].as_object().unwrap() {
                assert!(key.len() <= 253);
                let bytes: ByteString = serde_json::from_value(value.clone()).unwrap();
                std::fs::write(data.join(key), bytes.0).unwrap();
                std::os::unix::fs::symlink(dir.path().join("..data").join(key), dir.path().join(key)).unwrap();
            }
        }
        dir
    }

    /// Returns bytes that do not compress.
    fn noise(count: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn modules_arrive_as_they_were_sent(sizes in proptest::collection::vec((0usize..3, 0usize..2_000_000), 0..5), seed: u64) {
            let names = ["a", "a.b", "x-1"];
            let mut sent: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
            for (at, (plugin, size)) in sizes.into_iter().enumerate() {
                let module = (format!("b_{at}.c.wasm"), noise(size, seed.wrapping_add(at as u64)));
                sent.entry(names[plugin].to_owned()).or_default().push(module);
            }
            let plugins: Vec<_> = sent.iter().map(|(name, modules)| plugin(name, modules.clone())).collect();
            let maps = pack(&Config::default(), &plugins.iter().collect::<Vec<_>>()).unwrap();
            let dir = mounted(&maps);
            prop_assert_eq!(unpack_modules(dir.path()).unwrap(), sent);
        }
    }

    #[test]
    fn missing_and_damaged_chunks_are_reported() {
        let of = |modules| {
            let plugin = plugin("p", modules);
            mounted(&pack(&Config::default(), &[&plugin]).unwrap())
        };
        let error_of = |dir: &TempDir| unpack_modules(dir.path()).unwrap_err().to_string();
        let large = || vec![("m.wasm".to_owned(), noise(CHUNK * 2 + 1000, 7))];

        let dir = of(large());
        std::fs::remove_file(dir.path().join("p_m.wasm.gz.001")).unwrap();
        assert!(
            error_of(&dir).starts_with("chunk 1 of module `m.wasm` of plugin `p` is missing"),
            "{}",
            error_of(&dir)
        );

        let dir = of(large());
        std::fs::remove_file(dir.path().join("p_m.wasm.gz.002")).unwrap();
        assert_eq!(error_of(&dir), "module `m.wasm` of plugin `p` is damaged or incomplete");

        let dir = of(large());
        std::fs::write(dir.path().join("notes.txt"), "x").unwrap();
        assert!(error_of(&dir).starts_with("`notes.txt` is not a chunk"), "{}", error_of(&dir));
    }

    #[test]
    fn modules_that_do_not_fit_into_config_maps_are_rejected() {
        let error_of = |file: &str, size| {
            let plugin = plugin("p", vec![(file.to_owned(), noise(size, 3))]);
            pack(&Config::default(), &[&plugin]).unwrap_err().to_string()
        };
        assert!(error_of("a b.wasm", 1).contains("has a name that ConfigMaps do not allow"));
        assert!(error_of(&"a".repeat(101), 1).contains("at most 100 characters"));
        assert!(error_of("m.wasm", MAX_PACKED_BYTES + 1).contains("ConfigMaps carry at most 32 MiB"));
    }
}
