module github.com/plumbline-dev/plumbline/host/dev/modules/go

go 1.24

require github.com/plumbline-dev/plumbline/plugin-sdk/go v0.0.0

replace github.com/plumbline-dev/plumbline/plugin-sdk/go => ../../../../plugin-sdk/go
