import BelfryCore
import Foundation
import Testing

@Suite struct UUIDFormsTests {
    @Test func `a UUID is read from its text in either case`() {
        let uuid = UUID()
        for text in [uuid.uuidString, uuid.lowercased] {
            #expect(UUID(text: Array(text.utf8)[...]) == uuid)
        }
    }

    @Test(arguments: [
        "", "-", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d100",
        "3b0f2e3c9d3b4f3e8a7e0f4b8a3f2d10", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1g",
        "{3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1}", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1 ",
    ])
    func `what is not a UUID is none`(text: String) {
        #expect(UUID(text: Array(text.utf8)[...]) == nil)
        #expect(UUID(uuidString: text) == nil)
    }
}
