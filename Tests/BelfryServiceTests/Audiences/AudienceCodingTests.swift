import BelfryService
import Testing

@Suite struct AudienceCodingTests {
    @Test(
        arguments: [
            .list(.active), .list(.interactive), .list(.registered), .list(.devices([])),
            .list(.devices([Key(1), Key(1 << 40)])),
            .list(.topic("a:b")), .list(.topic("")), .list(.topic("\u{301}accent")), .list(.customUser("any:2")),
            .any([]), .any([.list(.topic("active")), .list(.customUser("Bond"))]),
            .all([.any([.list(.topic("x")), .any([])]), .list(.interactive)]),
            .except(.list(.active), .all([.list(.topic("quiet"))])),
        ] as [Audience])
    func `an audience is read as it was written`(audience: Audience) throws {
        #expect(try Audience(stored: Array(audience.storedText.utf8)) == audience)
    }

    @Test func `it is written as the words of docs and databases`() {
        let audience = Audience.all([.any([.list(.topic("news")), .list(.customUser("7"))]), .list(.interactive)])
        #expect(audience.storedText == #"["all:2","any:2","topic:news","custom_user:7","interactive"]"#)
    }

    @Test(arguments: [
        "[]", #"["any:2","active"]"#, #"["active","active"]"#, #"["all:0"]"#, #"["except:1","active"]"#,
        #"["any:-1"]"#, #"["any"]"#, #"["devices:1,x"]"#, #"["everybody"]"#, #""active""#,
        #"["any:9223372036854775807"]"#,
        "[\"" + String(repeating: #"any:1",""#, count: 100_000) + "active\"]",
    ])
    func `a senseless attempt note is refused`(written: String) {
        #expect(throws: InvalidInput.self) { try Audience(stored: Array(written.utf8)) }
    }
}
