module plumbline.dev/phonehome-peer

go 1.21
