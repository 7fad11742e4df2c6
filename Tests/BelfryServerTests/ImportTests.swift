import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import Testing

/// Services that move in, by the program itself.
extension ServerTests {
    @Suite struct ImportTests {}
}

extension ServerTests.ImportTests {
    private struct Report: Decodable {
        let rows: Int
        let new: Int
        let updated: Int
        let duplicate: Int
        let refused: Int
        let verdicts: String
        let others: [String]?
    }

    private static let deviceCount =
        ProcessInfo.processInfo.environment["IMPORT_DEVICES"].flatMap(Int.init) ?? 6_000

    @Test func `a PCF service moves in while serving, despite kills`() async throws {
        try await OldPCFServer.with(devices: Self.deviceCount) { old in
            try await TestInstallation.with { installation in
                let moved = try await MovedIn(to: installation, from: old)
                for share in [5, 3, 2] {
                    let program = try Program.start(
                        moved.arguments + ["--data-directory", installation.data], [:],
                        log: installation.scratch.file("import-log-\(share)"))
                    defer { program.endAtOnce() }
                    try await eventually("a part of the devices is imported", every: .milliseconds(5)) {
                        guard program.isRunning else {
                            if program.ending != 0 { throw Overdue(hope: program.logged, deadline: .zero) }
                            return true
                        }
                        return moved.done >= Self.deviceCount / share
                    }
                    // On a machine that stood still it may have come to its end.
                    if program.isRunning { try await program.end(SIGKILL) }
                }
                old.fault = .now(503)
                let ended = try await Program.run(
                    moved.arguments + ["--schedules", "--data-directory", installation.data], in: installation.scratch,
                    within: .seconds(600))
                old.fault = .none
                let report: Report = try ended.decoded()
                #expect(report.rows == Self.deviceCount && report.refused == 0)
                #expect(report.others?.contains { $0.hasPrefix("refused: schedule a: message") } == true)
                #expect(report.new + report.duplicate + report.updated == Self.deviceCount)
                let verdicts = try String(contentsOfFile: report.verdicts, encoding: .utf8).split(separator: "\n")
                #expect(verdicts.count == Self.deviceCount + 1, "each row has its verdict")
                #expect(Set(verdicts.dropFirst().map { $0.prefix { $0 != "," } }).count == Self.deviceCount)
                try await Self.compare(installation, with: old)
                try await Self.compareContents(installation)
                try await Self.useOldNames(moved)
            }
        }
    }

    /// Device by device.
    private static func compare(_ installation: TestInstallation, with old: OldPCFServer) async throws {
        try await installation.withResources { resources in
            for platform in old.platforms {
                let uuid = try #require(UUID(uuidString: platform.uuid))
                let found = try #require(try await resources.store.platform(uuid))
                var (number, last): (Int, Key<Device>?) = (0, nil)
                var unlike: Set<Int> = Set(0..<platform.count)
                while case let some = try await resources.store.unseenDevices(
                    on: [found.key], after: last, limit: 1_000),
                    !some.isEmpty
                {
                    for device in some {
                        let uuid = device.uuid.uuidString.lowercased()
                        guard let place = Int(uuid.suffix(12), radix: 16) else { continue }
                        let read = OldPCFServer.Device(
                            uuid: uuid, token: device.token?.text(for: found.kind) ?? "", tags: device.topics.sorted(),
                            user: device.customUserID, alias: device.about.alias ?? "", isActive: device.isActive)
                        let there = platform.device(place)
                        let sorted = OldPCFServer.Device(
                            uuid: there.uuid, token: there.token, tags: there.tags.sorted(), user: there.user,
                            alias: there.alias, isActive: there.isActive)
                        if read == sorted { unlike.remove(place) }
                        number += 1
                    }
                    last = some.last?.key
                }
                #expect(number == platform.count && unlike.isEmpty, "\(platform.os): \(unlike.prefix(5))")
            }
        }
    }

    private static func compareContents(_ installation: TestInstallation) async throws {
        try await installation.withResources { resources in
            let store = resources.store
            let uuid = try #require(UUID(uuidString: OldPCFServer.application))
            let application = try #require(try await store.application(uuid))
            let summer = try await store.topic(named: "summer", of: application.key)
            #expect(summer?.expiresAt?.milliseconds == 4_000_000_000_000)
            #expect(try await store.topic(named: "topic120", of: application.key)?.expiresAt == nil)
            let locations = try await store.locations(of: application.key, GeoListQuery(size: 50))
            #expect(locations.total == 60)
            let groups = try await store.locationGroups(of: application.key, GeoListQuery()).elements
            #expect(groups.map(\.name) == ["Shops"] && groups.first?.locations.count == 2)
            let geofences = try await store.geofences(of: application.key, GeoListQuery())
            #expect(geofences.elements.map(\.key) == [Key(907), Key(911)])
            let schedules = try await store.schedules(of: application.key, after: nil, limit: 9)
            #expect(Set(schedules.map(\.dueAt.milliseconds)) == [4_000_000_000_000, 4_000_000_060_000])
            #expect(schedules.count == 2, "equal schedules are taken over once, and unreadable ones stop no others")
            let platform = try #require(try await store.platforms(of: application.key).first { $0.kind == .ios })
            let changes = try await store.geofenceUpdates(
                since: Instant(milliseconds: OldPCFServer.lastModified), on: platform)
            #expect(changes.geofences.isEmpty && changes.gone.isEmpty)
            #expect(changes.lastModified.milliseconds == OldPCFServer.lastModified)
        }
    }

    /// Uses names that apps and back ends have from the old server; they go on working here.
    private static func useOldNames(_ moved: MovedIn) async throws {
        let server = try await moved.installation.serve()
        defer { server.endAtOnce() }
        let base = try await server.addresses().http
        let platform = moved.old.platforms[1]
        let app = moved.caller(platform.uuid, platform.secret, at: base)
        let back = moved.caller(OldPCFServer.application, OldPCFServer.apiKey, at: base)
        let device = platform.device(1)
        struct Shown: Decodable {
            struct Tag: Decodable { let text: String }
            let device_uuid: String
            let custom_user_id: String?
            let tags: [Tag]
        }
        func shown(_ answer: Caller.TestAnswer) throws -> Shown {
            #expect(answer.status == 200, "\(answer.body)")
            return try JSONDecoder().decode(Shown.self, from: Data(answer.body.utf8))
        }
        let get = try shown(try await app.send("GET", "/v1/registration/\(device.uuid)"))
        #expect(get.device_uuid == device.uuid && get.tags.map(\.text) == ["all", "tag1"])
        // The signature of the example, made with the shared secret of the old server.
        let token =
            "eyJhbGciOiJIUzI1NiJ9.eyJjdXN0b21fdXNlcl9pZCI6ImJvbmQwMDcifQ.I_ebQ-2NZjzTRWE-nuwgZfGNtz_4m6Bh9TlLFs06GU4"
        let put = try shown(
            try await app.send(
                "PUT", "/v1/registration/\(device.uuid)",
                """
                {"registration_token":"\(device.token)","custom_user_id":"\(token)",\
                "tags":{"subscribe":["new"],"unsubscribe":["all"]}}
                """))
        #expect(put.device_uuid == device.uuid && put.custom_user_id == "bond007")
        #expect(put.tags.map(\.text) == ["new", "tag1"], "the tags of the old server were there to be changed")
        let push = try await back.send(
            "POST", "/v1/push", #"{"message":{"body":"Hello"},"target":{"devices":["\#(device.uuid)"]}}"#)
        struct Receipt: Decodable { let receipt_id: UUID }
        let id = try JSONDecoder().decode(Receipt.self, from: Data(push.body.utf8)).receipt_id
        let receipt = try TestInstallation.ReceiptDetails(
            try await moved.installation.run("receipt", id.uuidString.lowercased(), "--json"))
        #expect(receipt.devices == 1)
        let list = try await back.send("GET", "/v2/registrations?q=\(device.uuid)")
        #expect(list.body.contains(device.uuid) && list.body.contains(#""totalRegistrations":1"#), "\(list.body)")
        #expect(try await app.send("DELETE", "/v1/registration/\(device.uuid)").status == 204)
        #expect(try await app.send("GET", "/v1/registration/\(device.uuid)").body.contains(#""active":false"#))
    }

    private static func verdicts(_ report: Report) throws -> [Substring] {
        try String(contentsOfFile: report.verdicts, encoding: .utf8).split(separator: "\n")
    }

    @Test func `a PCF dry run predicts its import and writes nothing`() async throws {
        try await OldPCFServer.with(devices: 300) { old in
            old.fault = .busy(7)
            try await TestInstallation.with { installation in
                let moved = try await MovedIn(to: installation, from: old)
                func run(_ more: String...) async throws -> (report: Report, verdicts: [Substring]) {
                    let ended = try await Program.run(
                        moved.arguments + ["--schedules", "--data-directory", installation.data] + more,
                        in: installation.scratch)
                    let report: Report = try ended.decoded()
                    return (report, try Self.verdicts(report))
                }
                for new in [300, 0] {
                    let judged = try await run("--dry-run")
                    #expect(judged.report.new == new && judged.report.duplicate == 300 - new)
                    let done = try await run()
                    #expect(done.report.new == new && done.report.duplicate == 300 - new)
                    #expect(judged.verdicts == done.verdicts && judged.verdicts.count == 301)
                    #expect(judged.report.others == done.report.others, "topics, places, geofences and schedules")
                    #expect(judged.report.others?.contains("topics: \(new == 0 ? 0 : 121)") == true)
                }
            }
        }
    }

    @Test func `an old server's private CA is read where given`() async throws {
        try await TestInstallation.with { installation in
            let pair = try await OpenSSL(scratch: installation.scratch).pair("old")
            try await OldPCFServer.with(devices: 20, tls: pair) { old in
                let moved = try await MovedIn(to: installation, from: old)
                let arguments = moved.arguments + ["--data-directory", installation.data]
                let distrusting = try await Program.run(arguments, in: installation.scratch)
                #expect(distrusting.status != 0 && distrusting.err.contains("--trust-root"), "\(distrusting)")
                #expect(!distrusting.err.contains("NIOSSL") && old.asked == 0, "\(distrusting)")
                let noFile = try await Program.run(
                    arguments + ["--trust-root", moved.apiKeyFile], in: installation.scratch)
                #expect(noFile.status != 0 && noFile.err.contains("holds no certificates in PEM"), "\(noFile)")
                let missing = try await Program.run(arguments + ["--trust-root", "/nowhere"], in: installation.scratch)
                #expect(missing.err.contains("--trust-root: there is no file /nowhere"), "\(missing)")
                let report: Report = try await Program.run(
                    arguments + ["--trust-root", pair.certificate], in: installation.scratch
                ).decoded()
                #expect(report.new == 20)
                let wrongKey = try installation.scratch.write("wrong", to: "wrong-key")
                let refused = try await Program.run(
                    arguments + ["--trust-root", pair.certificate, "--api-key-file", wrongKey],
                    in: installation.scratch)
                #expect(refused.status != 0 && refused.err.contains("answered 401: check --app-uuid"), "\(refused)")
            }
        }
    }

    @Test func `a list is judged, imported, and resumed after a kill`() async throws {
        try await TestInstallation.with { installation in
            let lines = (0..<9_000).map { number in
                // One in 1,000 cannot be read, and one repeats a row far above, with other topics or as it was.
                let token = number % 1_000 == 7 ? "no-hex" : String(format: "%064x", number % 1_000 == 8 ? 0 : number)
                let labels = number < 3_000 && number % 2_000 == 8 ? #"["a","c"]"# : #"["a","b"]"#
                return #"{"push":"\#(token)","labels":\#(labels),"who":"user \#(number % 1_000 == 8 ? 0 : number)"}"#
            }
            let list = try installation.scratch.write(lines.joined(separator: "\n"), to: "devices.jsonl")
            let arguments = [
                "import", "devices", "--app", installation.application, "--platform", installation.platform, "--format",
                "jsonl", "--map", "token=push,topics=labels,user=who", "--json", list,
            ]
            let judged: Report = try await installation.run(arguments + ["--dry-run"]).decoded()
            #expect(judged.rows == 9_000 && judged.new == 8_982 && judged.refused == 9)
            #expect(judged.updated == 4 && judged.duplicate == 5)
            let count = try await installation.withResources { resources in
                let platform = try await resources.operatorService.platform(
                    try #require(UUID(uuidString: installation.platform)))
                return try await resources.store.deviceCount(on: platform.key)
            }
            #expect(count == 0, "a dry run writes nothing")
            let program = try Program.start(
                arguments + ["--data-directory", installation.data], [:], log: installation.scratch.file("import-log"))
            defer { program.endAtOnce() }
            try await eventually("some rows are imported", every: .milliseconds(1)) {
                FileManager.default.fileExists(atPath: list + ".verdicts.csv.state") || !program.isRunning
            }
            if program.isRunning { try await program.end(SIGKILL) }
            let report: Report = try await installation.run(arguments).decoded()
            #expect(report.rows == 9_000 && report.refused == 9)
            #expect(report.new + report.duplicate + report.updated == 8_991 && report.updated >= 4)
            let verdicts = try String(contentsOfFile: report.verdicts, encoding: .utf8).split(separator: "\n")
            #expect(verdicts.count == 9_001)
            #expect(verdicts[8].hasPrefix("8,") && verdicts[8].contains("refused") && verdicts[8].contains("hex"))
            let foretold = try Self.verdicts(try await installation.run(arguments + ["--dry-run"]).decoded())
            let again: Report = try await installation.run(arguments).decoded()
            #expect(again.duplicate == 8_987 && again.updated == 4 && again.new == 0)
            #expect(try Self.verdicts(again) == foretold)
        }
    }

    private static func pack(_ list: String) throws {
        let packing = Process()
        packing.executableURL = URL(filePath: "/bin/gzip")
        packing.arguments = ["-k", list]
        try packing.run()
        packing.waitUntilExit()
    }

    @Test func `torn lists are imported, and verdicts replace verdicts alone`() async throws {
        try await TestInstallation.with { installation in
            let scratch = installation.scratch
            let tokens = (0..<500).map { String(format: "%064x", $0 * 7_919) }
            let list = try scratch.write("registration_token\n" + tokens.joined(separator: "\n"), to: "long.csv")
            try Self.pack(list)
            let packed = try Data(contentsOf: URL(filePath: list + ".gz"))
            try packed.prefix(packed.count / 2).write(to: URL(filePath: list + ".gz"))
            let other = try scratch.write("row,of,mine\n", to: "other.csv")
            let device = scratch.file("device")
            try FileManager.default.createSymbolicLink(atPath: device, withDestinationPath: "/dev/null")
            func read(_ list: String, _ verdicts: String, _ more: String...) async throws -> Program.Ended {
                let options = ["--app", installation.application, "--format", "csv", "--verdicts", verdicts]
                return try await installation.run(["import", "devices"] + options + more + [list])
            }
            let verdicts = scratch.file("verdicts.csv")
            let torn = try await read(list + ".gz", verdicts)
            #expect(torn.status != 0 && torn.err.contains("cannot be unpacked: gzip ended with 1"), "\(torn)")
            let known = try String(contentsOfFile: verdicts, encoding: .utf8).split(separator: "\n").count - 1
            #expect(known > 100)
            let judged = try await read(list, verdicts, "--dry-run")
            #expect(judged.out.contains("duplicate  \(known)\n"), "\(judged)")
            for (input, verdicts, words) in [
                (list, list, "--verdicts names the list itself"), (list, other, "holds something else than verdicts"),
                (scratch.path, verdicts, "is a directory, a file is expected"),
                (list, device, "is no file that verdicts can stand in"),
            ] {
                let refused = try await read(input, verdicts)
                #expect(refused.status != 0 && refused.err.contains(words), "\(refused)")
            }
            #expect(try String(contentsOfFile: list, encoding: .utf8).hasPrefix("registration_token"))
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "row,of,mine\n")
            let link = scratch.file("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: verdicts)
            #expect(try await read(list, link, "--dry-run").status == 0)
            for kept in [device, link] { _ = try FileManager.default.destinationOfSymbolicLink(atPath: kept) }
            let first = try #require(FileHandle(forWritingAtPath: verdicts))
            #expect(flock(first.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
            let second = try await read(list, verdicts, "--dry-run")
            #expect(second.status != 0 && second.err.contains("is written by another import"), "\(second)")
            try first.close()
        }
    }

    @Test func `packed and piped lists are read; unreadable ones say why`() async throws {
        try await TestInstallation.with { installation in
            let list = try installation.scratch.write(
                "registration_token\n\(String(repeating: "0a", count: 32))\n", to: "devices.csv")
            try Self.pack(list)
            let arguments = [
                "import", "devices", "--app", installation.application, "--format", "csv", "--json", "--verdicts",
                installation.scratch.file("v.csv"),
            ]
            try FileManager.default.moveItem(atPath: list + ".gz", toPath: list + ".GZ")
            let report: Report = try await installation.run(arguments + [list + ".GZ"]).decoded()
            #expect(report.rows == 1 && report.new == 1)
            let substituted: Report = try await Program.run(
                ["import", "devices", "--app", installation.application, "--format", "csv", "--json"]
                    + installation.storageFlags, in: installation.scratch,
                behind: [
                    "bash", "-c", "cd '\(installation.scratch.path)' && exec \"$0\" \"$@\" <(cat '\(list)')",
                ]
            ).decoded()
            #expect(substituted.duplicate == 1 && substituted.verdicts == "import.verdicts.csv")
            for (format, text, words) in [
                ("pcf", "hello", "cannot be read from byte 0"), ("csv", "a,b\n1,2\n", "no column 'registration_token'"),
                ("csv", "", "the file has no line with the names of its columns"),
            ] {
                let broken = try installation.scratch.write(text, to: "broken")
                let ended = try await installation.run(
                    "import", "devices", "--app", installation.application, "--format", format, broken)
                #expect(ended.status != 0 && ended.err.contains(words), "\(ended.err)")
            }
            func piped(_ text: String) async throws -> Program.Ended {
                let input = try installation.scratch.write(text, to: "piped")
                return try await Program.run(
                    [
                        "import", "devices", "--app", installation.application, "--format", "pcf", "--verdicts",
                        installation.scratch.file("piped.csv"), "-",
                    ] + installation.storageFlags, in: installation.scratch,
                    behind: ["sh", "-c", "exec \"$0\" \"$@\" < '\(input)'"])
            }
            func row(_ digits: String) -> String {
                #"{"registration_token":"\#(String(repeating: digits, count: 32))","os":"ios"}"#
            }
            let cut = try await piped(#"{"registrations":[\#(row("0b"))"#)
            #expect(cut.status != 0 && cut.err.contains("ends after 118 bytes in the middle of a page"), "\(cut)")
            // Another list goes on from nowhere.
            let other = try await piped(#"{"registrations":[\#(row("0c"))]}"#)
            #expect(other.status == 0, "\(other)")
            for digits in ["0b0b0b0b", "0c0c0c0c"] {
                let found = try await installation.run(
                    "device", "list", "--app", installation.application, "-q", digits, "--json")
                #expect(found.out.contains(digits), "\(found)")
            }
            let remote = try await Program.run(
                ["import", "devices", "--app", installation.application, "--format", "csv", "--validate", list],
                ["BELFRY_SERVER": "http://127.0.0.1:1", "BELFRY_ADMIN_KEY": "key"], in: installation.scratch)
            #expect(remote.err.contains("--validate works on the server's own machine"), "\(remote)")
            let unknown = try await installation.run(
                "import", "devices", "--app", installation.application, "--format", "xml", list)
            #expect(unknown.status != 0 && unknown.err.contains("it has to be one of pcf, onesignal"))
        }
    }

    @Test func `verdicts on a full disk name their file`() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let fault = #expect(throws: FileFault.self) { try full.append(Data("row".utf8), to: "verdicts.csv") }
        #expect(fault?.description == "verdicts.csv cannot be written: No space left on device")
    }

    @Test func `a taken UUID is refused without naming its owner`() async throws {
        try await TestInstallation.with { installation in
            let tenant: [String: String] = try await installation.run("tenant", "create", "--name", "Dairy", "--json")
                .decoded()
            let ended = try await installation.run(
                "app", "create", "--name", "Mine", "--tenant", try #require(tenant["tenant_uuid"]), "--uuid",
                installation.application)
            #expect(
                ended.status != 0 && ended.err.contains("is taken") && !ended.err.contains("Bakery"), "\(ended.err)")
        }
    }
}
