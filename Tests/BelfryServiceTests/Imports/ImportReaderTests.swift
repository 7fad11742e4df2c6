import BelfryService
import Foundation
import Testing

@Suite struct ImportReaderTests {
    /// Reads a text in pieces of one size.
    private static func read(
        _ text: String, as format: ImportFormat, mapping: ImportMapping = .standard, piece: Int = 7, skipping: Int = 0
    ) throws -> [ImportReader.Row] {
        var reader = ImportReader(format, mapping: mapping, skipping: skipping)
        let bytes = Array(text.utf8)
        var rows: [ImportReader.Row] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            rows += try reader.read(bytes[start..<min(start + piece, bytes.count)])
        }
        return try rows + reader.finish()
    }

    private static func faults(_ rows: [ImportReader.Row]) -> [Int: String] {
        Dictionary(
            uniqueKeysWithValues: rows.compactMap { row in
                if case .failure(let fault) = row.outcome { (row.number, fault.description) } else { nil }
            })
    }

    private static let pages = """
        {"registrations":[{"registration_token":"a]}","device_uuid":"u1","os":"ios","tags":[{"text":"x"},"y"]},
          {"registration_token":"b","active":"false","other":{"registrations":[{}]}}],"totalPages":2,"size":2}
        {"size":1, "registrations" : [ {"registration_token":"c\\"","os":"android-fcm"} ] } [{"registration_token":"d"}]
        """

    @Test(arguments: [1, 2, 7, 10_000])
    func `pages follow one another and may be cut anywhere`(piece: Int) throws {
        let rows = try Self.read(Self.pages, as: .pcf, piece: piece)
        let read = try rows.map { try $0.outcome.get() }
        #expect(read.map(\.token) == ["a]}", "b", "c\"", "d"])
        #expect(rows.map(\.number) == [1, 2, 3, 4])
        #expect(read[0].topics == ["x", "y"] && read[0].id == "u1" && read[0].kinds == [.ios])
        #expect(read[1].isActive == false && read[2].kinds == [.androidFCM])
    }

    @Test func `rows that were done before are passed over`() throws {
        #expect(try Self.read(Self.pages, as: .pcf, skipping: 3).map(\.number) == [4])
        let csv = "registration_token\na\nb\n"
        #expect(try Self.read(csv, as: .csv, skipping: 1).map(\.number) == [2])
    }

    @Test func `an unreadable row of a page stops no other`() throws {
        let text =
            #"{"registrations":[{"registration_token":5},{"a" "b"},null,"x",{"registration_token":"d"},{"tags":7}]}"#
        let rows = try Self.read(text, as: .pcf)
        #expect(rows.count == 6)
        #expect(Set(Self.faults(rows).keys) == [1, 2, 3, 4, 6])
        #expect(Self.faults(rows)[6] == "tags has to be an array, it is a number")
    }

    @Test(arguments: ["hello", "}", #"{"registrations":[{"a":1}"#, #"{"registrations":[}"#])
    func `a file without pages names the first wrong byte`(text: String) throws {
        let fault = #expect(throws: InvalidInput.self) { try Self.read(text, as: .pcf) }
        #expect(fault?.description.contains("byte") == true)
    }

    @Test(arguments: [1, 3, 10_000])
    func `CSV records may hold commas, quotes and line ends`(piece: Int) throws {
        let text = "\u{FEFF}registration_token,device_alias,tags\r\na,\"my, \"\"phone\"\"\nhere\",\"x;y\"\r\nb,,\n"
        let rows = try Self.read(text, as: .csv, piece: piece).map { try $0.outcome.get() }
        #expect(rows.map(\.token) == ["a", "b"])
        #expect(rows[0].about.alias == "my, \"phone\"\nhere" && rows[0].topics == ["x", "y"])
        #expect(rows[1].about.alias == nil && rows[1].topics == [])
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func `any line end ends a CSV record`(end: String) throws {
        let lines = ["registration_token,device_alias", #"t1,Emma 12" iPad"#, #"t2,"a,""b""""#, #"t3,x"""#, "t4,d"]
        for last in ["", end] {
            let text = lines.joined(separator: end) + last
            let rows = try Self.read(text, as: .csv, piece: 1).map { try $0.outcome.get() }
            #expect(rows.map(\.token) == ["t1", "t2", "t3", "t4"])
            #expect(rows.map(\.about.alias) == [#"Emma 12" iPad"#, #"a,"b""#, #"x"""#, "d"])
        }
    }

    @Test func `a CSV without columns is refused, unless it continues`() throws {
        for text in ["", "\r\n\n", "\u{FEFF}"] {
            let fault = #expect(throws: InvalidInput.self) { try Self.read(text, as: .csv) }
            #expect(fault?.description == "the file has no line with the names of its columns")
        }
        var part = ImportReader(.csv)
        #expect(try part.finish(isPart: true).isEmpty)
        for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian] {
            let bytes = try #require("\u{FEFF}registration_token\na\n".data(using: encoding))
            var reader = ImportReader(.csv)
            let fault = #expect(throws: InvalidInput.self) { try reader.read(bytes) }
            #expect(fault?.description == "the file is in UTF-16, it has to be in UTF-8")
        }
        for start: [UInt8] in [[0x1F, 0x8B, 0x08], [0x50, 0x4B, 0x03, 0x04]] {
            var reader = ImportReader(.csv)
            let fault = #expect(throws: InvalidInput.self) { try reader.read(start + [0x0A]) }
            #expect(fault?.description.hasPrefix("the file is packed") == true)
        }
    }

    @Test func `an unreadable CSV record stops no other`() throws {
        let text = "registration_token,active\na,maybe\nb\nc,true,x\n\"d\"e,true\nf,false\ng,\"true"
        let rows = try Self.read(text, as: .csv)
        #expect(
            Self.faults(rows) == [
                1: "active has to be a boolean, it is a string", 2: "row has 1 values, there are 2 columns",
                3: "row has 3 values, there are 2 columns", 4: "column 1 goes on behind its closing quote",
                6: "row has a quote that is not closed",
            ])
        #expect(try rows[4].outcome.get().isActive == false)
    }

    @Test func `rows before an unreadable place are read`() throws {
        var reader = ImportReader(.pcf)
        let rows = try reader.read(Array(#"[{"registration_token":"a"},{"registration_token":"b"}]}"#.utf8))
        #expect(try rows.map { try $0.outcome.get().token } == ["a", "b"])
        #expect(throws: InvalidInput.self) { try reader.finish() }
    }

    @Test func `overlong optional fields refuse no device`() throws {
        let (alias, tag) = (String(repeating: "ä", count: 1_000), String(repeating: "t", count: 300))
        let values = (0..<50).map(String.init).joined(separator: ",")
        let row = try Self.read(
            #"{"registration_token":"a","device_alias":"\#(alias)","tags":["\#(tag)","news"],"#
                + #""attributes":{"a":[\#(values)],"b":[\#(values)]}}"#, as: .jsonl)[0].outcome.get()
        let registration = try row.device(for: .androidFCM).registration
        #expect(registration.about.alias?.utf8.count == Registration.aboutBytesMax)
        #expect(registration.topics == .replace(["news"]) && registration.labels.names.count == 30)
    }

    @Test func `a CSV without its needed column names those present`() throws {
        let fault = #expect(throws: InvalidInput.self) { try Self.read("a,b\n1,2\n", as: .csv) }
        #expect(fault?.description == "the file has no column 'registration_token', it has a, b")
    }

    @Test func `an overlong row is refused and the next read`() throws {
        let long = String(repeating: "x", count: 1 << 20)
        let rows = try Self.read(
            "{\"registration_token\":\"\(long)\"}\n{\"registration_token\":\"b\"}\n", as: .jsonl, piece: 4_096)
        #expect(Self.faults(rows) == [1: "row is longer than 1048576 bytes"])
        #expect(try rows[1].outcome.get().token == "b")
        let csv = try Self.read("registration_token\n\(long)x\nb\n", as: .csv, piece: 4_096)
        #expect(Self.faults(csv) == [1: "row is longer than 1048576 bytes"] && csv.count == 2)
    }

    @Test func `a mapping names columns, and its faults are named`() throws {
        let mapping = try ImportMapping("token=push,uuid=id,topics=labels,user=who,type=os_name,last_seen=at")
        let line =
            #"{"push":"t","id":"u","labels":["a","b"],"who":7,"os_name":"web","at":"2026-01-31T08:30:00+01:00","x":1}"#
        let row = try #require(try Self.read(line, as: .jsonl, mapping: mapping).first).outcome.get()
        #expect(row.token == "t" && row.id == "u" && row.topics == ["a", "b"] && row.customUserID == "7")
        #expect(row.kinds == [.web] && row.lastSeenAt == Instant(text: "2026-01-31T07:30:00Z"))
        #expect(throws: InvalidInput.self) { try ImportMapping("tokens=push") }
        let faults = Self.faults(
            try Self.read("{\"os_name\":\"tv\"}\n{\"at\":\"soon\"}\n[1]\n{", as: .jsonl, mapping: mapping))
        #expect(faults.count == 4)
        #expect(faults[2] == "at is 'soon', which is no time since 1970 such as 2026-01-31T08:30:00Z")
    }

    @Test(arguments: [
        ("2020-03-06T18:52:59", 1_583_520_779_000), ("2019-06-11 17:46:59.061 UTC", 1_560_275_219_061),
        ("2018-05-07T19:03:29.963Z", 1_525_719_809_963), ("2026-01-31T08:30:00-0130", 1_769_853_600_000),
        ("1583520779", 1_583_520_779_000), ("1583520779123", 1_583_520_779_123),
        ("2019-06-11 17:46:59.061+00", 1_560_275_219_061), ("2019-06-11 17:46:59 -0130", 1_560_280_619_000),
        ("2019-06-11", 1_560_211_200_000),
    ])
    func `times are read as other services write them`(text: String, milliseconds: Int64) throws {
        let row = try Self.read(
            "registration_token,last_seen\na,\(text)\n", as: .csv
        )[0].outcome.get()
        #expect(row.lastSeenAt?.milliseconds == milliseconds)
    }

    @Test func `rows are dealt to platforms by their type and mode`() throws {
        func platform(_ key: Int64, _ kind: PlatformKind, _ mode: Platform.Mode = .production) -> Platform {
            Platform(
                key: Key(key), uuid: UUID(words: 1, UInt64(key)), applicationKey: Key(1), kind: kind, mode: mode,
                name: "p", secretHash: [], credentials: Sealed(bytes: []), credentialsVersion: 1, parked: nil,
                createdAt: .zero)
        }
        let all = ImportPlatforms([platform(1, .ios), platform(2, .ios, .development), platform(3, .androidFCM)])
        var row = ImportRow()
        #expect(throws: InvalidInput.self) { try all.platform(for: row) }
        row.kinds = [.android, .androidFCM]
        #expect(try all.platform(for: row).key == Key(3))
        row.kinds = [.ios]
        #expect(throws: InvalidInput.self) { try all.platform(for: row) }
        row.mode = .development
        #expect(try all.platform(for: row).key == Key(2))
        #expect(throws: InvalidInput.self) { try ImportPlatforms([platform(1, .ios)]).platform(for: row) }
        let twins = ImportPlatforms([platform(1, .ios), platform(2, .ios)])
        row.mode = .production
        #expect(throws: InvalidInput.self) { try twins.platform(for: row) }
        let listed = ImportReader.pcfRow(Array(#"{"registration_token":"a","os":"ios"}"#.utf8), of: platform(2, .ios))
        #expect(try twins.platform(for: listed.get()).key == Key(2))
        row = ImportRow()
        #expect(try ImportPlatforms([platform(1, .ios)]).platform(for: row).key == Key(1))
    }

    @Test(arguments: [ImportFormat.jsonl, .csv, .pinpoint])
    func `a piece of text makes few rows at once`(format: ImportFormat) async throws {
        var reader = ImportReader(format)
        let text = "registration_token\n" + String(repeating: "a\n", count: 100_000)
        var (most, count) = (0, 0)
        try await reader.read(Array(text.utf8)) { rows in
            most = max(most, rows.count)
            count += rows.count
        }
        count += try reader.finish().count
        #expect(most <= ImportReader.pieceBytes / 2 && count >= 100_000)
    }

    @Test func `a window fills by rows or bytes`() {
        func row(_ number: Int, _ bytes: Int) -> ImportReader.Row {
            ImportReader.Row(number: number, outcome: .failure(InvalidInput(field: "row", "is none")), bytes: bytes)
        }
        var window = ImportWindow(rowsMax: 3)
        #expect(window.add(row(1, 2)) == nil && window.add(row(2, 2)) == nil)
        #expect(window.add(row(3, 2))?.map(\.number) == [1, 2, 3])
        #expect(window.add(row(4, 1 << 20)) == nil)
        #expect(window.add(row(5, 1 << 20))?.map(\.number) == [4, 5])
        #expect(window.rest().isEmpty)
    }

    @Test func `a row keeps short texts`() {
        let long = String(repeating: "ä", count: 600_000)
        let verdict = ImportService.Verdict(row: 1, id: long, platform: nil, outcome: .refused(long))
        #expect(verdict.id?.utf8.count == ImportService.Verdict.idBytesMax)
        #expect(verdict.outcome == .refused(String(repeating: "ä", count: 256)))
    }

    @Test func `a list of very many columns is refused`() throws {
        let columns = String(repeating: ",", count: 100_000)
        #expect(throws: InvalidInput.self) { try Self.read("registration_token\(columns)\n", as: .csv) }
        let rows = try Self.read("registration_token\n\(columns)\n", as: .csv, piece: 4_096)
        #expect(Self.faults(rows) == [1: "row has more values than 1024, the limit"])
    }

    @Test func `columns that nothing reads, and repeated ones, are named`() throws {
        var reader = ImportReader(.csv)
        #expect(reader.ignoredColumns == nil)
        let rows = try reader.read(Array("registration_token,shoe,tags,tags,shoe\na,9,x,y,8\n".utf8))
        #expect(try rows.map { try $0.outcome.get().topics } == [["x"]])
        #expect(reader.ignoredColumns?.unread == ["shoe"] && reader.ignoredColumns?.repeated == ["tags", "shoe"])
        let fault = #expect(throws: InvalidInput.self) { try Self.read("id;identifier;device_type\n", as: .onesignal) }
        #expect(
            fault?.description.hasSuffix("it has id;identifier;device_type; commas have to be between them") == true)
    }

    @Test func `a wide list is read at its known columns`() throws {
        let others = (1...1_021).map { "x\($0)" }
        let names = others + ["registration_token", "tags", "registration_token"]
        let values = others.map { _ in "-" } + ["a", "x;y", "b"]
        let text = [names, values, ["short"]].map { $0.joined(separator: ",") }.joined(separator: "\n")
        let rows = try Self.read(text, as: .csv, piece: 4_096)
        let row = try rows[0].outcome.get()
        #expect(row.token == "a" && row.topics == ["x", "y"])
        #expect(Self.faults(rows) == [2: "row has 1 values, there are 1024 columns"])
    }

    @Test func `a row names the column its device cannot take`() throws {
        let mapping = try ImportMapping("token=push,user=customer")
        let row = try #require(try Self.read("push,customer\nzz,kim\n", as: .csv, mapping: mapping).first)
        #expect(row.columns["registration_token"] == "push" && row.columns["custom_user_id"] == "customer")
        let device = try row.outcome.get()
        let fault = #expect(throws: InvalidInput.self) { try device.device(for: .ios) }
        #expect(fault?.renamed(row.columns).description.hasPrefix("push is not an APNs token") == true)
    }

    @Test(arguments: [
        ("\"[\"\"a\"\",\"\"b\"\"]\"", ["a", "b"]), ("\" A , B \"", ["A", "B"]), ("x; y |z", ["x", "y", "z"]),
        ("\"[]\"", []),
        ("\" [\"\"a,b\"\"] \"", ["a,b"]), ("a b", ["a b"]),
    ])
    func `a cell has topics as a list, also in JSON`(cell: String, topics: [String]) throws {
        let row = try Self.read("registration_token,tags\na,\(cell)\n", as: .csv)[0].outcome.get()
        #expect(row.topics == topics)
    }

    @Test(arguments: [
        ("badge", "x", "badge is 'x', it has to be a whole number from 0"), ("badge", "-1", "badge is '-1'"),
        ("badge", "1.5", "badge is '1.5'"), ("badge", "99999999999", "badge is '99999999999'"),
        ("last_seen", "0026-01-31T08:30:00Z", "last_seen is '0026-01-31T08:30:00Z', which is no time since 1970"),
        ("tags", "[a", "tags begins with '[' and is no JSON"),
    ])
    func `an invalid cell is refused with its column`(column: String, cell: String, words: String) throws {
        let rows = try Self.read("registration_token,\(column)\na,\(cell)\nb,\n", as: .csv)
        #expect(Self.faults(rows)[1]?.hasPrefix(words) == true, "\(Self.faults(rows))")
        #expect(try rows[1].outcome.get().token == "b")
    }
}
