// Command etcdlab runs one etcd without peers on loopback, for the test cluster.
package main

import (
	"flag"
	"log"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("data-dir", "default.etcd", "where the data is kept")
	clients := flag.String("listen-client-urls", "http://127.0.0.1:2379", "the address that clients connect to")
	flag.String("advertise-client-urls", "", "ignored: the same address")
	flag.Parse()
	c := embed.NewConfig()
	c.Dir = *dir
	c.LogLevel = "warn"
	u, err := url.Parse(*clients)
	if err != nil {
		log.Fatal(err)
	}
	p, _ := url.Parse("http://127.0.0.1:2380")
	c.ListenClientUrls = []url.URL{*u}
	c.AdvertiseClientUrls = []url.URL{*u}
	c.ListenPeerUrls = []url.URL{*p}
	c.AdvertisePeerUrls = []url.URL{*p}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		log.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	log.Fatal(<-e.Err())
}
