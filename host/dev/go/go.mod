module plumbline.dev/bench/junit

go 1.21
