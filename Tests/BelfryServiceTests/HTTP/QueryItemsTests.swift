import Testing

@testable import BelfryService

@Suite struct QueryItemsTests {
    @Test(
        arguments: [
            ("", nil), ("other=1", nil), ("name", nil), ("name=", nil), ("name=a", "a"), ("name=a=b", "a=b"),
            ("name=a&name=b", "b"), ("name=a&name=", "a"), ("name=a&name", "a"), ("n%61me=a+b%2B%zz", "a b+%zz"),
            // Bytes that are no UTF-8 stay apart.
            ("name=%E9", "%E9"),
        ] as [(String, String?)])
    func `the last that is given counts`(query: String, value: String?) {
        #expect(QueryItems(query)["name"] == value)
    }

    @Test func `a yes may be capitalized`() throws {
        #expect(try QueryItems("force=True").bool("force") == true)
        #expect(throws: InvalidInput(field: "force", "has to be true or false")) {
            try QueryItems("force=yes").bool("force")
        }
    }

    @Test func `a malformed number is reported before an empty one`() throws {
        #expect(try QueryItems("size=20&size=").integer("size", from: 1) == 20)
        #expect(throws: InvalidInput(field: "size", "has to be a whole number from 1")) {
            try QueryItems("size=x&size=").integer("size", from: 1)
        }
    }
}
