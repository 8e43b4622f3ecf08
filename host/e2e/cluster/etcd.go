// Command etcdlab runs one etcd without peers on loopback, for a cluster of tests.
package main

import (
	"flag"
	"log"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("data-dir", "", "")
	flag.Parse()
	c := embed.NewConfig()
	c.Dir = *dir
	c.LogLevel = "warn"
	u, _ := url.Parse("http://127.0.0.1:2379")
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
