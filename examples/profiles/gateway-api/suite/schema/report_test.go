// Package schema compares reports with the type of the Gateway API project. The judge of the profile
// has types of its own, and reads `report.yaml` too, which has every field.
package schema

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	confv1 "sigs.k8s.io/gateway-api/conformance/apis/v1"
	"sigs.k8s.io/yaml"
)

// read reads a report. Fields that the type does not have are errors.
func read(t *testing.T, file string) confv1.ConformanceReport {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report confv1.ConformanceReport
	if err := yaml.UnmarshalStrict(text, &report); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := report.Implementation.Validate(); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return report
}

func TestRecordedReportsHaveTheSchema(t *testing.T) {
	files, err := filepath.Glob("../../tests/*/archive/plugins/gateway-api/results/global/report.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded report: %v", err)
	}
	for _, file := range files {
		if report := read(t, file); report.Kind != "ConformanceReport" || len(report.ProfileReports) == 0 {
			t.Errorf("%s: %+v", file, report)
		}
	}
}

func TestTheReportThatTheJudgeReadsHasEveryField(t *testing.T) {
	every(t, "report", reflect.ValueOf(read(t, "report.yaml")))
}

// every reports fields without a value. A field that the project adds is one.
func every(t *testing.T, path string, value reflect.Value) {
	t.Helper()
	if value.IsZero() {
		t.Errorf("%s has no value: add it to report.yaml, and to the types of the judge", path)
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		every(t, path, value.Elem())
	case reflect.Struct:
		for i := range value.NumField() {
			every(t, path+"."+value.Type().Field(i).Name, value.Field(i))
		}
	case reflect.Slice:
		for i := range value.Len() {
			every(t, path, value.Index(i))
		}
	}
}
