import BelfryService
import Testing

@Suite struct FormBodyTests {
    @Test(arguments: [
        "target=news", "name=value&x=y", "_method=PUT", "--boundary\r\nContent-Disposition: form-data", " title=a b",
    ])
    func `the fields of a form are called so`(text: String) {
        let fault = #expect(throws: InvalidInput.self) { try JSONReader.document(Array(text.utf8)) { _, _ in } }
        #expect(fault?.description.contains("is not JSON but the fields of a form") == true, "\(fault as Any)")
    }

    @Test(arguments: ["target", "fresh", "never", "hello", "truey", "nullx", "-x", "<html>"])
    func `a text that begins like a value is no value`(text: String) {
        let fault = #expect(throws: InvalidInput.self) { try JSONReader.document(Array(text.utf8)) { _, _ in } }
        #expect(fault?.description.contains("is not valid JSON") == true, "\(fault as Any)")
    }

    @Test func `a text within another is named`() {
        #expect(throws: InvalidInput(field: "tags", "is not valid JSON: expected a value at byte 0")) {
            try JSONValue(json: "gold".utf8, field: "tags")
        }
    }

    @Test(arguments: [
        ("true", "a boolean"), ("null", "null"), ("-1", "a number"), ("false ", "a boolean"), ("[]", "an array"),
    ])
    func `a value of another type is named`(text: String, type: String) {
        #expect(throws: InvalidInput(field: "body", "has to be an object, it is \(type)")) {
            try JSONReader.document(Array(text.utf8)) { _, _ in }
        }
    }
}
