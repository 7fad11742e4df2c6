import Foundation
import Testing

@testable import BelfryService

@Suite struct CarmaTableTests {
    private static func settings(
        _ delimiter: Character = ",", _ encoding: CarmaImport.Settings.Encoding = .utf8, identity: String = "originalId"
    ) -> CarmaImport.Settings {
        CarmaImport.Settings(
            kind: .add, delimiter: delimiter.asciiValue ?? 0, encoding: encoding, identityColumn: identity)
    }

    private static func lines(_ text: String, _ settings: CarmaImport.Settings) throws -> [CarmaTable.Line] {
        try lines(Array(text.utf8), settings)
    }

    private static func lines(_ bytes: [UInt8], _ settings: CarmaImport.Settings) throws -> [CarmaTable.Line] {
        var table = try CarmaTable(bytes, settings)
        var lines: [CarmaTable.Line] = []
        while let line = table.next() { lines.append(line) }
        return lines
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `headers ignore case, unknown columns are properties, empties are skipped`(
        end: String
    ) throws {
        let text = [
            "ORIGINALID|firstname|ZipCode|optOutDate|active|Shoe Size|devicetoken|",
            #"7|"Lars ""L"" H"|11122|1500000000000|false|43|ab12|x"#, "", " 8 ||||||",
        ].joined(separator: end)
        let found = try Self.lines(text, Self.settings("|"))
        #expect(found.map(\.number) == [2, 4])
        let first = try found[0].contact.get()
        #expect(first.originalID == "7" && first.devices.map(\.token) == ["ab12"])
        #expect(
            first.attributes == [
                "firstName": .text(#"Lars "L" H"#), "zipcode": .text("11122"), "active": .flag(false),
                "optOutDate": .time(Instant(milliseconds: 1_500_000_000_000)), "property.Shoe Size": .text("43"),
            ])
        let second = try found[1].contact.get()
        #expect(second.originalID == "8" && second.attributes.isEmpty && second.devices.isEmpty)
    }

    @Test func `lists in Latin-1, tabs or marked UTF-8 are read`() throws {
        let latin1 = Array("originalId\tcity\n1\tMalm".utf8) + [0xF6]
        let found = try Self.lines(latin1, Self.settings("\t", .latin1))
        #expect(try found[0].contact.get().attributes == ["city": .text("Malmö")])
        let marked = [0xEF, 0xBB, 0xBF] + Array("mail,city\na@b,Malmö\n".utf8)
        let contact = try Self.lines(marked, Self.settings(identity: "MAIL"))[0].contact.get()
        #expect(contact.originalID == "a@b" && contact.attributes == ["city": .text("Malmö")])
    }

    @Test(arguments: ["", "\n\n", "name;originalId\n1;2", "originalIdentity\n1"])
    func `a list without its id column names those present`(text: String) {
        #expect {
            try CarmaTable(Array(text.utf8), Self.settings())
        } throws: {
            "\($0)".contains("has no column 'originalId', with delimiter 44 it has")
        }
    }

    @Test(arguments: [
        ("2017-01-31T08:30:00+0100", "2017-01-31T08:30:00+01:00"), ("2017-01-31", "2017-01-31T00:00:00Z"),
        ("2017-01-31T08:30:00Z", "2017-01-31T08:30:00Z"), ("soon", "soon"),
    ])
    func `times have a form that can be read`(text: String, form: String) {
        #expect(text.carmaTime == form)
    }

    @Test(
        arguments: [
            ("1500000000000", 1_500_000_000_000), ("1500000000", 1_500_000_000_000),
            ("1500000000.25", 1_500_000_000_250), ("2017-07-14T02:40:00Z", 1_500_000_000_000), ("0", nil), ("0.0", nil),
        ] as [(String, Int64?)])
    func `dates are numbers or ISO 8601, and 0 is none`(text: String, milliseconds: Int64?) throws {
        let time = milliseconds.map { UserAttribute.time(Instant(milliseconds: $0)) }
        let line = try Self.lines("originalId,optOutDate\n1,\(text)", Self.settings())[0]
        let sent = try CarmaContactChange(Array(#"{"optOutDate":"\#(text)"}"#.utf8))
        for found in [try line.contact.get(), sent] { #expect(found.attributes == ["optOutDate": time]) }
    }

    @Test(arguments: ["1e30", "-1e30", "nan", "soon"])
    func `a text that is no date is refused`(text: String) {
        #expect(throws: InvalidInput.self) { try Instant.carma(text, field: "optOutDate") }
    }

    @Test func `a bad line says why, and later lines are read`() throws {
        let long = String(repeating: "x", count: CarmaTable.lineBytesMax + 1)
        let text = "originalId,optOutDate\n1,2,3\n,5\n3,soon\n\(long)\n9,"
        let found = try Self.lines(Array(text.utf8) + [0xFF] + Array("\n10,0\n11,\0\n".utf8), Self.settings())
        #expect(found.map(\.number) == [2, 3, 4, 5, 6, 7, 8])
        let reasons = found.map { line in
            if case .failure(let error) = line.contact { "\(error)" } else { "" }
        }
        #expect(reasons[0].contains("has 3 values for 2 columns"))
        #expect(reasons[1].contains("originalId is missing"))
        #expect(reasons[2].contains("optOutDate"))
        #expect(reasons[3].contains("the limit is \(CarmaTable.lineBytesMax)"))
        #expect(reasons[4].contains("is no UTF-8"))
        #expect(reasons[5].isEmpty)
        #expect(reasons[6].contains("has the character U+0000"))
    }

    @Test func `a delimiter between quotation marks is text`() throws {
        let text = #"""
            originalId,firstName,city
            1,"Hansson, Lars","a ""b"", c"
            2, "x,y" ,5" disk
            3,b"c,d
            4,"Lund,e
            5,"",f
            """#
        let found = try Self.lines(text, Self.settings())
        var values: [[UserAttribute?]] = []
        for line in found where line.number != 5 {
            let attributes = try line.contact.get().attributes
            values.append(["firstName", "city"].map { attributes[$0] ?? nil })
        }
        #expect(
            values == [
                [.text("Hansson, Lars"), .text(#"a "b", c"#)], [.text("x,y"), .text(#"5" disk"#)],
                [.text(#"b"c"#), .text("d")], [nil, .text("f")],
            ])
        #expect(throws: InvalidInput.self) { try found[3].contact.get() }
    }

    @Test func `too many columns are refused`() {
        let names = (0...CarmaTable.columnsMax).map { $0 == 0 ? "originalId" : "c\($0)" }.joined(separator: ",")
        #expect(throws: InvalidInput.self) { try CarmaTable(Array(names.utf8), Self.settings()) }
    }
}

@Suite struct CarmaLanguageTests {
    @Test(arguments: [
        ("sv_SE", "sv"), ("sv-SE", "sv"), ("SV", "sv"), ("pt_BR", "pt-br"), ("PT-br", "pt-br"),
        ("pt_BR.UTF-8", "pt-br"),
        ("pt", "en"), ("zh-Hant-TW", "zh-hant"), ("zh_hant", "zh-hant"), ("zh_Hant_TW@stroke", "zh-hant"),
        ("zh-Hant-x-TW", "zh-hant"), ("zh-Hans", "en"), ("", "en"), ("_", "en"),
    ])
    func `a language finds the nearest that a trigger has`(tag: String, found: String) throws {
        let template = try CarmaTemplate(
            try JSONValue(
                json: #"""
                    {"default_language":"EN","languages":{"en":{"alert":"en"},"sv":{"alert":"sv"},"pt_BR":{"alert":"pt-br"},
                     "zh-Hant":{"alert":"zh-hant"}}}
                    """#.utf8))
        #expect(try template.texts(in: tag, values: [:]).alert == found)
    }

    @Test(arguments: ["{{First Name}}", "{{  First Name }}"])
    func `a placeholder keeps the blanks within its name`(text: String) throws {
        let template = try CarmaTemplate(try JSONValue(json: #"{"languages":{"en":{"alert":"\#(text)"}}}"#.utf8))
        #expect(try template.texts(in: nil, values: ["First Name": "Lars"]).alert == "Lars")
    }

    @Test func `two spellings of one language are refused`() throws {
        for (first, second, kept) in [("pt-BR", "pt_BR", "a"), ("pt_BR", "pt-BR", "b"), ("pt-BR", "PT-BR", "b")] {
            let old = try JSONValue(
                json: #"{"languages":{"\#(first)":{"alert":"a"},"\#(second)":{"alert":"b"}}}"#.utf8)
            #expect(throws: InvalidInput.self) { try CarmaTemplate(old) }
            let stored = try CarmaTemplate(old, isStored: true)
            #expect(try stored.texts(in: "pt-BR", values: [:]).alert == kept, "\(first), \(second)")
        }
        let value = try JSONValue(json: #"{"languages":{"pt-BR":{"alert":"a"},"pt_br":{"alert":"b"}}}"#.utf8)
        #expect(throws: InvalidInput.self) { try CarmaTemplate(value) }
    }
}
