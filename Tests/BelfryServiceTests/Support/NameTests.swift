import BelfryService
import Testing

/// Names of topics, users and aliases, with the blanks that people and spreadsheets leave around them.
@Suite struct NameTests {
    private static let blanks = [
        " ", "  ", "\t", "\n", "\r\n", "\u{A0}", "\u{3000}", "\u{2003}", "\u{200B}", "\u{FEFF}", "\u{200D}", "\u{200E}",
        " \u{2028}",
    ]
    private static let names = ["offers", "Zürich", "a b", "👩‍👩‍👧", "❤️", "نامه‌ها", "cn=emma,ou=people", "ß"]

    @Test(arguments: blanks, names) func `blanks around a name are no part of it`(blank: String, name: String) throws {
        for text in [blank + name, name + blank, blank + name + blank + blank] {
            #expect(try Topic.normalized(text, field: "topic") == Topic.normalized(name, field: "topic"))
            #expect(try User.checked(id: text).utf8.elementsEqual(User.checked(id: name).utf8))
            #expect(try Target(customUserIDs: [text]) == Target(customUserIDs: [name]))
            let registration = try Self.registration(user: text, alias: text)
            #expect(try registration == Self.registration(user: name, alias: name))
        }
        #expect(name.asName.unicodeScalars.count == name.normalized.unicodeScalars.count, "within a name all stays")
    }

    @Test(arguments: blanks) func `a name of blanks is refused`(blank: String) {
        #expect(throws: InvalidInput.self) { try Topic.normalized(blank, field: "topic") }
        #expect(throws: InvalidInput.self) { try User.checked(id: blank) }
        #expect(throws: InvalidInput(field: "target.custom_user_ids[1]", "is blank")) {
            try Target(customUserIDs: ["a", blank])
        }
        #expect(throws: InvalidInput(field: "custom_user_id", "is blank")) { try Self.registration(user: blank) }
    }

    @Test(arguments: ["\t", "\n", "\u{0}", "\u{7F}", "\u{85}", "\u{2028}"])
    func `a control character within a name is refused`(control: String) {
        let name = "a\(control)b"
        #expect(throws: InvalidInput.self) { try Topic.normalized(name, field: "topic") }
        #expect(throws: InvalidInput.self) { try User.checked(id: name) }
        #expect(throws: InvalidInput.self) { try Target(customUserIDs: [name]) }
        #expect(throws: InvalidInput.self) { try Self.registration(user: name) }
    }

    @Test func `display names and descriptions keep lines, not U+0000`() throws {
        #expect(throws: InvalidInput.self) { try Name("a\u{0}b") }
        #expect(throws: InvalidInput.self) { try Description("a\u{0}b") }
        #expect(try Name("a\nb").text == "a\nb")
        #expect(try Description("a\nb").text == "a\nb")
    }

    private static func registration(user: String, alias: String? = nil) throws -> Registration {
        try Registration(
            token: DeviceToken(bytes: [1]), about: Device.About(alias: alias), customUserID: .set(user), topics: .keep)
    }
}
