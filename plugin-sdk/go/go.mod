module github.com/plumbline-dev/plumbline/plugin-sdk/go

go 1.24
