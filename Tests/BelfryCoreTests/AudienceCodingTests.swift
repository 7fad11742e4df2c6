import BelfryCore
import FoundationEssentials
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
        let read = try JSONDecoder().decode(Audience.self, from: JSONEncoder().encode(audience))
        #expect(read == audience)
    }

    @Test func `it is written as the words of docs and databases`() throws {
        let audience = Audience.all([.any([.list(.topic("news")), .list(.customUser("7"))]), .list(.interactive)])
        let written = try JSONEncoder().encode(audience)
        #expect(written == Data(#"["all:2","any:2","topic:news","custom_user:7","interactive"]"#.utf8))
    }

    @Test(arguments: [
        "[]", #"["any:2","active"]"#, #"["active","active"]"#, #"["all:0"]"#, #"["except:1","active"]"#,
        #"["any:-1"]"#, #"["any"]"#, #"["devices:1,x"]"#, #"["everybody"]"#, #""active""#,
        #"["any:9223372036854775807"]"#,
    ])
    func `what makes no sense is refused`(written: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Audience.self, from: Data(written.utf8)) }
    }
}
