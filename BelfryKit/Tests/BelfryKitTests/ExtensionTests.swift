import BelfryKit
import Foundation
import Testing

/// A notification service extension beside its app: two processes on one folder.
@Suite struct ExtensionTests {
    private func reports(_ phone: ScriptedPhone, at now: Int64? = nil) throws -> ExtensionReports {
        let time = now ?? phone.now
        return ExtensionReports(try phone.configuration(), transport: phone.server, clock: { time })
    }

    private func message(_ receipt: String) -> PushMessage {
        PushMessage(receiptID: receipt, title: "Hello", receivedAt: 1_700_000_000_000)
    }

    private func reported(to server: ScriptedServer) -> [String] {
        server.asked.filter { $0.path == "/v1/analytics" }
            .flatMap { $0.member("events") as? [[String: String]] ?? [] }.compactMap { $0["receiptId"] }
    }

    @Test func `the app takes over its extension's notes beside its own`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        try await app.opened(receiptID: "app")
        try reports(phone).received(message("r1"))
        let changes = await app.changes()
        try await app.changeTopics(adding: ["sport"])
        #expect(await app.latestMessages == [message("r1")])
        #expect(reported(to: phone.server) == ["app", "r1"])
        #expect(await app.registration?.topics == ["news", "sport"])
        for await change in changes {
            #expect(change == .received(message("r1")))
            break
        }
        // It is on the app's own list from then on.
        #expect(await (try phone.start()).latestMessages == [message("r1")])
    }

    @Test(arguments: [true, false])
    func `a push noted by app and extension counts once`(isFirst: Bool) async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        if isFirst { try reports(phone).received(message("r")) }
        try await app.received(message("r"))
        if !isFirst { try reports(phone).received(message("r")) }
        try await app.received(message("r"))
        try await app.resume()
        try await app.resume()
        #expect(reported(to: phone.server) == ["r"])
        #expect(await app.latestMessages == [message("r")])
    }

    @Test func `events reported by the extension are not reported again`() async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        let reports = try reports(phone)
        for receipt in ["r1", "r2"] {
            try reports.received(message(receipt))
            try await reports.send()
        }
        let app = try phone.start()
        try await app.resume()
        #expect(reported(to: phone.server) == ["r1", "r2"])
        #expect(await app.latestMessages.map(\.receiptID) == ["r1", "r2"])
    }

    @Test(arguments: [true, false])
    func `a push that comes twice counts once`(isReported: Bool) async throws {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        for time in [phone.now, phone.now + 9] {
            let reports = try reports(phone, at: time)
            try reports.received(message("r"))
            if isReported { try await reports.send() }
        }
        let app = try phone.start()
        try await app.resume()
        #expect(reported(to: phone.server) == ["r"])
        #expect(await app.latestMessages == [message("r")])
    }

    @Test func `an extension leaves a server alone that asks to wait`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), .init(status: 429, fields: ["Retry-After": "9"])]))
        defer { phone.wipe() }
        let app = try phone.start()
        try await app.register(phone.wish())
        await #expect(throws: BelfryError.busy(retryAfter: 9)) { try await app.changeTopics(adding: ["sport"]) }
        try reports(phone).received(message("r"))
        await #expect(throws: BelfryError.busy(retryAfter: 9)) { try await reports(phone).send() }
        #expect(phone.server.asked.count == 2)
        try await reports(phone, at: phone.now + 9_000).send()
        #expect(reported(to: phone.server) == ["r"])
    }

    @Test func `an extension that cannot report leaves it to the app`() async throws {
        let phone = ScriptedPhone(
            ScriptedServer([.init(body: #"{"device_uuid":"d-1"}"#), .init(), .init(status: 503)]))
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        let reports = try reports(phone)
        try reports.received(message("r1"))
        await #expect(throws: BelfryError.busy(retryAfter: nil)) { try await reports.send() }
        // Of a clock a year ahead the server would count nothing.
        try self.reports(phone, at: phone.now + 365 * 86_400_000).received(message("r2"))
        try await phone.start().resume()
        #expect(reported(to: phone.server) == ["r1", "r1", "r2"])
        let times = phone.server.asked.last?.member("events") as? [[String: String]] ?? []
        #expect(times.compactMap { $0["eventTime"].flatMap { Int64($0) } }.allSatisfy { $0 <= phone.now })
    }

    @Test func `the last two hundred events wait for the first registration`()
        async throws
    {
        let phone = ScriptedPhone()
        defer { phone.wipe() }
        for number in 0..<205 {
            try reports(phone, at: phone.now - 1_000 + Int64(number)).received(message("r\(number)"))
        }
        try await reports(phone).send()
        #expect(phone.server.asked.isEmpty)
        let app = try phone.start()
        try await app.register(phone.wish())
        #expect(reported(to: phone.server) == (5..<205).map { "r\($0)" })
        #expect(await app.latestMessages.map(\.receiptID) == (155..<205).map { "r\($0)" })
    }

    @Test func `a restored phone leaves the other phone's reports alone`() async throws {
        var phone = ScriptedPhone()
        defer { phone.wipe() }
        try await phone.start().register(phone.wish())
        try reports(phone).received(message("r"))
        phone.identity = UUID()
        let restored = try phone.start()
        try await restored.register(phone.wish("bb"))
        #expect(reported(to: phone.server).isEmpty)
    }
}
