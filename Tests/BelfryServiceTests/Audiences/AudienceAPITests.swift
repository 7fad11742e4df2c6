import BelfryTesting
import Foundation
import HTTPTypes
import Testing

@testable import BelfryService

/// Audiences and segments through the admin API.
@Suite struct AudienceAPITests {
    private func register(_ body: String, _ here: TestAdminServer.TestResources, _ server: TestAdminServer) async throws
    {
        let reply = try await server.send(
            .post, "apps/\(here.application.uuid.lowercased)/devices", as: nil,
            #"{"platform_uuid":"\#(here.platform.uuid.lowercased)",\#(body)}"#)
        #expect(reply.status == 201, "\(reply)")
    }

    private func token(_ number: Int) -> String {
        #""registration_token":"\#(String(repeating: "0", count: 62))\#(number + 10)""#
    }

    @Test func `the product manager's question is answered`() async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        let path = "apps/\(here.application.uuid.lowercased)"
        for number in 0..<40 {
            let (country, version) = (number < 20 ? "DE" : "AT", number.isMultiple(of: 2) ? "5.10" : "4.9")
            let topics = number.isMultiple(of: 3) ? #"["news","sports"]"# : #"["news"]"#
            try await register(
                #"\#(token(number)),"topics":\#(topics),"language":"de","country":"\#(country)","app_version":"\#(version)""#,
                here, server)
        }
        let question = "topic:news -topic:sports country:DE version>=5 lang:de seen:P30D"
        let count = try await server.send(.post, "\(path)/audience/count", #"{"where":"\#(question)"}"#)
        #expect(count["devices"] == .integer(6) && count["is_exact"] == .bool(true), "\(count)")
        #expect(count["where"]?.stringValue == question)
        let estimate = try await server.send(
            .post, "\(path)/audience/count", #"{"where":"\#(question)","estimate":true}"#)
        #expect(estimate["devices"] == .integer(6), "few devices are counted all the same")
        let sample = try await server.send(.post, "\(path)/audience/sample", #"{"where":"\#(question)","limit":3}"#)
        let devices: [JSONValue] = if case .array(let found)? = sample["devices"] { found } else { [] }
        #expect(devices.count == 3, "\(sample)")
        let push = try await server.send(
            .post, "\(path)/pushes",
            #"{"message":{"body":"x"},"target":{"all":[{"topic":"news"},{"not":{"topic":"sports"}}]}}"#)
        let receipt = try #require(push["receipt_id"]?.stringValue)
        let shown = try await server.send(.get, "pushes/\(receipt)")
        #expect(shown["target"]?["where"]?["all"] != nil, "\(shown)")
    }

    @Test func `an attribute is kept, changed and removed`() async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        let path = "apps/\(here.application.uuid.lowercased)"
        let device = "\(path)/devices/\(here.device.uuid.lowercased)"
        for (change, shown) in [
            (
                #"{"attributes":{"plan":"pro","teams":["b","a"],"logins":7}}"#,
                #"{"logins":7,"plan":"pro","teams":["a","b"]}"#
            ),
            (#"{"attributes":{"plan":"","none":null},"app_version":"5"}"#, #"{"logins":7,"teams":["a","b"]}"#),
            (#"{"subscribe":["weather"]}"#, #"{"logins":7,"teams":["a","b"]}"#),
        ] {
            #expect(try await server.send(.patch, device, change).status == 200)
            let reply = try await server.send(.get, device)
            #expect(reply["attributes"]?.storedText == shown, "\(reply)")
        }
        let topics = try await server.send(.get, "\(path)/topics")
        #expect(!topics.text.contains("plan") && !topics.text.contains("\\u0001"), "\(topics.text)")
        let many = (0..<70).map { "\"a\($0)\":1" }.joined(separator: ",")
        let refused = try await server.send(.patch, device, "{\"attributes\":{\(many)}}")
        #expect(refused.status == 400 && refused.message?.contains("attributes") == true, "\(refused)")
    }

    @Test func `blanks around a user's attribute do not count`() async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        let path = "apps/\(here.application.uuid.lowercased)"
        try await register(#"\#(token(1)),"custom_user_id":"kim""#, here, server)
        #expect(try await server.send(.patch, "\(path)/users/kim", #"{"attributes":{"plan":"gold "}}"#).status == 200)
        for (text, devices) in [("user:kim user.plan:gold", 1), ("user:kim -user.plan:gold", 0)] as [(String, Int64)] {
            let count = try await server.send(.post, "\(path)/audience/count", #"{"where":"\#(text)"}"#)
            #expect(count["devices"] == .integer(devices), "\(text)")
        }
    }

    @Test(arguments: ["count", "sample"])
    func `an unknown segment is named by its field`(question: String) async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        let path = "apps/\(here.application.uuid.lowercased)/audience/\(question)"
        for (body, field) in [
            (#"{"where":"segment:none"}"#, "where"), (#"{"target":{"where":"segment:none"}}"#, "target.where"),
        ] {
            let refused = try await server.send(.post, path, body)
            #expect(refused.message?.hasPrefix("\(field) names the segment 'none'") == true, "\(refused)")
        }
    }

    @Test func `a change that breaks another segment is refused`() async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        func send(_ method: HTTPRequest.Method, _ rest: String, _ body: String) async throws -> TestAnswer {
            try await server.send(method, "apps/\(here.application.uuid.lowercased)/\(rest)", body)
        }
        for (name, text) in [
            ("a", "imported"), ("e", "imported"), ("b", "segment:a"), ("c", "segment:b"), ("d", "segment:c"),
        ] {
            #expect(try await send(.post, "segments", #"{"name":"\#(name)","where":"\#(text)"}"#).status == 201)
        }
        let refused = try await send(.patch, "segments/a", #"{"where":"segment:e"}"#)
        #expect(refused.status == 400 && refused.message?.contains("breaks the segment 'd'") == true, "\(refused)")
        #expect(try await send(.post, "segments", #"{"name":"f","where":"segment:d"}"#).status == 400)
        #expect(try await send(.patch, "segments/b", #"{"where":"segment:e"}"#).status == 200)
    }

    @Test func `a segment has versions and stays while it is used`() async throws {
        let server = try await TestAdminServer()
        let here = try await server.resources("here")
        let path = "apps/\(here.application.uuid.lowercased)"
        func send(_ method: HTTPRequest.Method, _ rest: String, _ body: String? = nil) async throws -> TestAnswer {
            try await server.send(method, "\(path)/\(rest)", body)
        }
        #expect(try await send(.post, "segments", #"{"name":"a","where":"topic:news"}"#).status == 201)
        #expect(try await send(.post, "segments", #"{"name":"a","where":"topic:news"}"#).status == 409)
        #expect(try await send(.post, "segments", #"{"name":"b","where":"segment:a or imported"}"#).status == 201)
        #expect(try await send(.post, "segments", #"{"name":"c","where":"segment:nobody"}"#).status == 400)
        let users = (0..<1_024).map { "\"\($0)-\(String(repeating: "u", count: 60))\"" }.joined(separator: ",")
        let large = try await send(.post, "segments", #"{"name":"c","where":{"user":[\#(users)]}}"#)
        #expect(large.status == 400 && large.message?.contains("the limit is 65536") == true, "\(large)")
        #expect(try await send(.patch, "segments/a", #"{"where":"segment:b"}"#).status == 400)
        let renamed = try await send(.patch, "segments/a", #"{"name":"b","where":"topic:news"}"#)
        #expect(renamed.status == 400 && renamed.message == "name stays: make another segment", "\(renamed)")
        #expect(try await send(.patch, "segments/a", #"{"where":"topic:news lang:de"}"#)["version"] == .integer(2))
        let kept = try await send(
            .post, "pushes",
            #"{"message":{"body":"x"},"send_at":"2100-01-01T00:00:00Z","target":{"where":"segment:b","segments":"now"}}"#
        )
        let live = try await send(
            .post, "pushes",
            #"{"message":{"body":"x"},"send_at":"2100-01-01T00:00:00Z","target":{"where":"segment:b"}}"#)
        let fixed = try await send(.get, "schedules/\(try #require(kept["schedule_id"]?.stringValue))")
        #expect(!fixed.text.contains("segment") && fixed.text.contains("news"), "\(fixed.text)")
        let shown = try await send(.get, "segments/b")
        #expect(shown["used_by"]?.storedText == #"["schedule \#(live["schedule_id"]?.stringValue ?? "")"]"#, "\(shown)")
        #expect(try await send(.delete, "segments/b").status == 409)
        #expect(try await send(.delete, "segments/a").status == 409)
        let a = try await send(.get, "segments/a")
        #expect(a["versions"]?.storedText.contains("topic:news") == true, "\(a)")
        #expect(try await server.audited().prefix(1) == ["schedule.create"])
        try await SegmentCounter(
            store: server.store, pushes: PushService(store: server.store), clock: server.clock, logger: .strict
        ).round()
        #expect(try await send(.get, "segments/a")["sizes"]?.storedText.contains("devices") == true)
    }
}
