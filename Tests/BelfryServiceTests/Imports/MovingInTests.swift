import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Requests to the admin API from a service that moves in.
@Suite struct MovingInTests {
    @Test func `a taken UUID is a conflict that hides its owner`() async throws {
        let server = try await TestAdminServer()
        let theirs = try await server.resources("secretshop")
        for (path, body) in [
            ("apps", #"{"name":"mine","app_uuid":"\#(theirs.application.uuid.lowercased)"}"#),
            (
                "apps/\(theirs.application.uuid.lowercased)/platforms",
                #"{"type":"ios","mode":"production","name":"mine","credentials":{"topic":"a.b"},"platform_uuid":"\#(theirs.platform.uuid.lowercased)"}"#
            ),
        ] {
            let reply = try await server.send(.post, path, body)
            #expect(reply.status == 409, "\(path): \(reply)")
            #expect(!reply.text.contains("secretshop") && reply.message?.contains("taken") == true, "\(reply)")
        }
    }

    @Test func `only operators restore old ids of applications and platforms`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let tenantAdmin = try await server.key(.tenantAdmin, .tenant(resources.tenant.key))
        let uuids = (app: UUID(), platform: UUID())
        let (app, platform) = (uuids.app.lowercased, uuids.platform.lowercased)
        let tenant = resources.tenant.uuid.lowercased
        let secret = String(repeating: "0a", count: 32)
        let identity = #""app_uuid":"\#(app)","api_key":"an-old-key-of-the-back-end","shared_secret":"\#(secret)""#
        let body = #"{"name":"moved","tenant_uuid":"\#(tenant)","description":"from the old house",\#(identity)}"#
        let refused = try await server.send(.post, "apps", as: tenantAdmin, body)
        #expect(refused.status == 403 && refused.message?.contains("only operators' keys may") == true, "\(refused)")
        let made = try await server.send(.post, "apps", body)
        #expect(made.status == 201 && made["app_uuid"] == .string(app), "\(made)")
        #expect(made["description"] == .string("from the old house") && made["tenant_uuid"] == .string(tenant))
        let application = try #require(try await server.store.application(uuids.app))
        #expect(application.apiKeyHash == SecretHash.of("an-old-key-of-the-back-end"))
        #expect(try server.admin.sharedSecret(of: application) == Array(repeating: 0x0a, count: 32))
        let platforms = "apps/\(app)/platforms"
        let old =
            #"{"type":"android-baidu","name":"moved","credentials":{"topic":"a.b"},"platform_uuid":"\#(platform)","platform_secret":"an-old-secret-of-the-apps"}"#
        #expect(try await server.send(.post, platforms, as: tenantAdmin, old).status == 403)
        let created = try await server.send(.post, platforms, old)
        #expect(created.status == 201 && created["platform_uuid"] == .string(platform), "\(created)")
        let kept = try await server.store.platform(uuids.platform)
        #expect(kept?.secretHash == SecretHash.of("an-old-secret-of-the-apps"))
        for (path, field, value) in [
            ("apps", "shared_secret", "zz"), ("apps", "shared_secret", "0a"), ("apps", "api_key", ""),
            (platforms, "platform_secret", ""), (platforms, "platform_uuid", "x"), ("apps", "app_uuid", "x"),
        ] {
            let rest = path == "apps" ? "" : #","type":"android-baidu","credentials":{"topic":"a.b"}"#
            let wrong = try await server.send(.post, path, #"{"name":"n","\#(field)":"\#(value)"\#(rest)}"#)
            #expect(wrong.status == 400 && wrong.message?.contains(field) == true, "\(field): \(wrong)")
        }
    }

    @Test func `a mode may be omitted and can be changed`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/platforms"
        let missing = try await server.send(
            .post, path, #"{"type":"ios","name":"n","credentials":{"topic":"a.b"}}"#)
        #expect(missing.status == 400 && missing.message?.contains("mode") == true, "\(missing)")
        let android = try await server.send(
            .post, path, #"{"type":"android-baidu","name":"n","credentials":{"topic":"a.b"}}"#)
        #expect(android.status == 201, "\(android)")
        let ios = "platforms/\(resources.platform.uuid.lowercased)"
        let edited = try await server.send(
            .patch, ios, #"{"mode":"development","name":"phones","description":"of iron"}"#)
        #expect(edited.status == 200 && edited["mode"] == .string("development"), "\(edited)")
        #expect(edited["name"] == .string("phones") && edited["description"] == .string("of iron"))
        #expect(try await server.store.platform(resources.platform.uuid)?.mode == .development)
    }

    @Test func `a platform's heartbeats show how long they took`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "platforms/\(resources.platform.uuid.lowercased)/heartbeats"
        let none = try await server.send(.get, path)
        #expect(none["devices"] == .integer(0) && none["last_at"] == .null && none["latency_ms"] == .null, "\(none)")
        server.clock.advance(by: .seconds(5))
        let beat = AnalyticsEvent(
            kind: .heartbeat, time: server.clock.now, device: resources.device.uuid, receiptID: resources.push.receiptID
        )
        _ = try await server.store.record([beat], on: resources.platform, lateMax: .seconds(86_400))
        let one = try await server.send(.get, path)
        #expect(one["devices"] == .integer(1) && one["last_at"] == .string(server.clock.now.text), "\(one)")
        for name in ["p50", "p90", "p99", "max"] { #expect(one["latency_ms"]?[name] == .integer(5_000)) }
        server.clock.advance(by: .seconds(7_200))
        #expect(try await server.send(.get, path)["devices"] == .integer(0), "the last hour, if no more is asked for")
        #expect(try await server.send(.get, path + "?since=2001-01-01T00:00:00Z")["devices"] == .integer(1))
    }

    @Test func `imported devices that were not seen are listed alone`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let old = UUID()
        _ = try await server.store.importDevices(
            [
                DeviceImport(
                    registration: try Registration(
                        token: DeviceToken(bytes: Array("moved".utf8)), about: Device.About(), customUserID: .clear,
                        topics: .replace([])), uuid: old)
            ], on: resources.platform)
        let devices = "apps/\(resources.application.uuid.lowercased)/devices"
        let unseen = try await server.send(.get, "\(devices)?unseen=true")
        #expect(unseen.text.contains(old.lowercased) && !unseen.text.contains(resources.device.uuid.lowercased))
        let all = try await server.send(.get, devices)
        #expect(all.text.contains(old.lowercased) && all.text.contains(resources.device.uuid.lowercased))
    }

    @Test func `an import reports each row on request`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports?format=csv"
        let list = "registration_token\n\(String(repeating: "0a", count: 32))\nno-hex\n"
        let silent = try await server.send(.post, path + "&dry_run=true", list)
        #expect(silent.status == 200 && silent["verdicts"] == nil, "\(silent)")
        let told = try await server.send(.post, path + "&verdicts=true", list)
        guard case .array(let verdicts)? = told["verdicts"] else {
            Issue.record("\(told)")
            return
        }
        #expect(verdicts.map { $0["verdict"]?.stringValue } == ["new", "refused"])
        #expect(verdicts.map { $0["row"] } == [.integer(1), .integer(2)])
    }

    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private static func list(_ numbers: Range<Int>) -> String {
        "registration_token\n" + numbers.map { token($0) + "\n" }.joined()
    }

    private static func verdicts(_ reply: TestAnswer) -> [String] {
        reply.text.split(separator: "\n").dropFirst().map { line in
            let parts = line.split(separator: ",", omittingEmptySubsequences: false)
            return "\(parts[0]) \(parts[3])"
        }
    }

    @Test func `an import is readable later, with a verdict per row`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports"
        let done = try await server.send(.post, path + "?format=csv", Self.list(7..<9) + "no-hex\n" + Self.token(7))
        #expect(done.status == 200 && done["state"] == .string("completed"), "\(done)")
        let id = try #require(done["import_id"]?.stringValue)
        let shown = try await server.send(.get, "\(path)/\(id)")
        #expect(shown["rows"] == .integer(4) && shown["new"] == .integer(2) && shown["refused"] == .integer(1))
        #expect(shown["duplicate"] == .integer(1) && shown["verdict_rows"] == .integer(4), "\(shown)")
        #expect(shown["refusals"] == nil && shown["ended_at"]?.stringValue != nil)
        let csv = try await server.send(.get, "\(path)/\(id)/verdicts")
        #expect(csv.headers[.contentType] == "text/csv; charset=utf-8")
        #expect(Self.verdicts(csv) == ["1 new", "2 new", "3 refused", "4 duplicate"], "\(csv)")
        #expect(
            csv.text.hasPrefix("row,id,platform_uuid,verdict,reason\n1,,\(resources.platform.uuid.lowercased),new,\n"))
        let broken = try await server.send(.post, path + "?format=pcf", "hello")
        #expect(broken.status == 400)
        let list = try await server.send(.get, path + "?limit=1")
        guard case .array(let imports)? = list["imports"], let cursor = list["next_cursor"]?.stringValue else {
            Issue.record("\(list)")
            return
        }
        #expect(imports.map { $0["state"]?.stringValue } == ["failed"])
        #expect(imports[0]["reason"]?.stringValue?.contains("cannot be read from byte 0") == true)
        let next = try await server.send(.get, path + "?limit=1&cursor=\(cursor)")
        #expect(next.text.contains(id))
        #expect(try await server.send(.get, "\(path)/\(UUID().lowercased)").status == 404)
        #expect(try await server.send(.get, "\(path)/\(UUID().lowercased)/verdicts").status == 404)
    }

    @Test func `rows before an unreadable place are imported`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports"
        let rows = (7..<9).map { #"{"os":"ios","registration_token":"\#(Self.token($0))"}"# }.joined(separator: ",")
        #expect(try await server.send(.post, path + "?format=pcf", "[\(rows)]}").status == 400)
        guard case .array(let imports)? = try await server.send(.get, path)["imports"] else { return }
        #expect(imports[0]["state"] == .string("failed") && imports[0]["new"] == .integer(2), "\(imports[0])")
    }

    @Test func `a list in parts resumes where it was when resent`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports/\(UUID().lowercased)?format=csv"
        let first = try await server.send(.put, path + "&more=true", Self.list(0..<3))
        #expect(first.status == 200 && first["state"] == .string("waiting") && first["last_row"] == .integer(3))
        // The same again, as after a kill: its rows are passed over unread.
        let again = try await server.send(.put, path + "&more=true&verdicts=true", Self.list(0..<5))
        #expect(again["rows"] == .integer(5) && again["new"] == .integer(5) && again["duplicate"] == .integer(0))
        guard case .array(let verdicts)? = again["verdicts"] else {
            Issue.record("\(again)")
            return
        }
        #expect(verdicts.map { $0["row"] } == [.integer(4), .integer(5)])
        let gap = try await server.send(.put, path + "&first_row=7", Self.list(6..<8))
        #expect(gap.status == 409 && gap.message?.contains("first_row has to be 6 or less") == true, "\(gap)")
        let other = try await server.send(.put, path.replacing("csv", with: "jsonl"), "")
        #expect(other.status == 409 && other.message?.contains("another format") == true, "\(other)")
        let last = try await server.send(.put, path + "&first_row=5", Self.list(4..<9))
        #expect(last["state"] == .string("completed") && last["rows"] == .integer(9), "\(last)")
        #expect(last["new"] == .integer(9))
        let ended = try await server.send(.put, path, Self.list(0..<20))
        #expect(ended.status == 200 && ended["rows"] == .integer(9), "\(ended)")
        let plain = String(path.prefix { $0 != "?" })
        let csv = try await server.send(.get, plain + "/verdicts")
        #expect(Self.verdicts(csv) == (1...9).map { "\($0) new" })
        #expect(try await server.audited().count == 1, "one import is one line of the audit log")
        let strange = try await server.resources("strange")
        let taken = try await server.send(
            .put,
            path.replacing(resources.application.uuid.lowercased, with: strange.application.uuid.lowercased), "")
        #expect(taken.status == 409 && !taken.text.contains("shop"), "\(taken)")
    }

    @Test func `a request short of time stops between rows, saying so`()
        async throws
    {
        var server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let path = "apps/\(resources.application.uuid.lowercased)/imports/\(UUID().lowercased)?format=csv"
        server.routes = server.routes(verdictDeadline: .zero)
        var done: [Int64] = []
        for _ in 0..<3 {
            let reply = try await server.send(.put, path, Self.list(0..<2_500))
            guard case .integer(let rows)? = reply["rows"] else { continue }
            #expect(reply.status == (rows < 2_500 ? 202 : 200), "\(reply)")
            #expect(reply["state"] == .string(rows < 2_500 ? "waiting" : "completed"))
            done.append(rows)
        }
        #expect(done == [1_024, 2_048, 2_500])
        #expect(try await server.store.unseenDeviceCount(on: resources.platform.key) == 2_500)
    }

    @Test func `a dry run of a list part predicts its import`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let base = "apps/\(resources.application.uuid.lowercased)/imports"
        _ = try await server.send(.post, base + "?format=csv", Self.list(2..<4))
        var told: [[String]] = []
        for dryRun in [true, false] {
            let path = "\(base)/\(UUID().lowercased)?format=csv&dry_run=\(dryRun)"
            _ = try await server.send(.put, path + "&more=true", Self.list(0..<5))
            let last = try await server.send(.put, path + "&first_row=6", Self.list(3..<8))
            #expect(last["state"] == .string("completed"), "\(last)")
            let csv = try await server.send(.get, String(path.prefix { $0 != "?" }) + "/verdicts")
            told.append(Self.verdicts(csv))
        }
        #expect(told[0] == told[1])
        let words = ["new", "new", "duplicate", "duplicate", "new", "duplicate", "duplicate", "new", "new", "new"]
        #expect(told[0] == zip(1...10, words).map { "\($0) \($1)" })
        // Another node knows nothing of the rows above.
        let path = "\(base)/\(UUID().lowercased)?format=csv&dry_run=true&more=true"
        _ = try await server.send(.put, path, Self.list(0..<5))
        var elsewhere = server
        elsewhere.routes = server.routes(verdictDeadline: .seconds(20))
        let refused = try await elsewhere.send(.put, path + "&first_row=6", Self.list(3..<8))
        #expect(refused.status == 409 && refused.message?.contains("begin another") == true, "\(refused)")
    }

    @Test func `a push lists devices by outcome and tells each story`() async throws {
        let server = try await TestAdminServer()
        let resources = try await server.resources("shop")
        let push = try await server.store.accept(.sample(77, to: resources.platform))
        let base = "pushes/\(push.receiptID.lowercased)/devices"
        let story = try await server.send(.get, "\(base)/\(resources.device.uuid.lowercased)")
        #expect(story["answer"] == .string("pending") && story["attempts"] == .array([]), "\(story)")
        #expect(story["next"]?.stringValue?.contains("still being looked up") == true)
        try await server.store.park(
            resources.platform.key, Parking(cause: .credentials, detail: "403 Forbidden", since: .zero))
        let parked = try await server.send(.get, "\(base)/\(resources.device.uuid.lowercased)")
        #expect(parked["help"]?.stringValue?.contains("belfry platform credentials") == true, "\(parked)")
        let receipt = try await server.send(.get, "pushes/\(push.receiptID.lowercased)")
        #expect(receipt.text.contains(#""platform_uuid":"\#(resources.platform.uuid.lowercased)""#), "\(receipt)")
        #expect(receipt.text.contains(#""remedy""#) && receipt["unmatched"]?["device_count"] == .integer(0))
        try await server.store.resume(resources.platform.key)
        for fanOut in try await server.store.claimFanOuts(atMost: 9, lanes: Lane.allCases, for: .seconds(60))
        where fanOut.pushKey == push.key {
            let step = FanOutStep(fanOut: fanOut, batches: [[resources.device.key]], isLast: true)
            #expect(try await server.store.advance(step))
        }
        let uuid = resources.device.uuid.lowercased
        #expect(try await server.send(.get, base).text.contains(uuid))
        #expect(try await server.send(.get, "\(base)?answer=pending").text.contains(uuid))
        #expect(try await !server.send(.get, "\(base)?answer=failed").text.contains(uuid))
        #expect(try await server.send(.get, "\(base)/\(UUID().lowercased)").status == 404)
    }
}
