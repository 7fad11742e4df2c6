import BelfryService
import Foundation
import Testing

@Suite struct UUIDFormsTests {
    @Test func `a UUID is read from its text in either case`() {
        let uuid = UUID()
        #expect(uuid.lowercased == uuid.uuidString.lowercased())
        for text in [uuid.uuidString, uuid.lowercased] {
            #expect(UUID(text: text) == uuid)
        }
    }

    @Test(arguments: [
        "", "-", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d100",
        "3b0f2e3c9d3b4f3e8a7e0f4b8a3f2d10", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1g",
        "{3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1}", "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1 ",
        "3b0f2e3c 9d3b-4f3e-8a7e-0f4b8a3f2d10", " b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d10",
        "3b0f2e3c-9d3b-4f3e-8a7e-0f4b8a3f2d1é",
    ])
    func `a malformed UUID is refused`(text: String) {
        #expect(UUID(text: text) == nil)
    }

    @Test func `ascending ids are version 7, others random`() {
        let before = UInt64(Date().timeIntervalSince1970 * 1_000)
        let made = (0..<1_000).map { _ in UUID.timeOrdered() }
        let after = UInt64(Date().timeIntervalSince1970 * 1_000)
        for uuid in made {
            let digits = Array(uuid.lowercased)
            #expect(digits[14] == "7" && "89ab".contains(digits[19]), "\(uuid)")
            let milliseconds = uuid.bytes.prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect((before...after).contains(milliseconds))
        }
        #expect(Set(made).count == 1_000)
    }
}
