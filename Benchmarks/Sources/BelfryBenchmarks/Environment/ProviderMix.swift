import Foundation

/// Four simulated providers, and a server with a quarter of the devices on a platform of each.
struct ProviderMix: Sendable {
    /// A platform, by the name it has in a push.
    enum Part: String, Sendable, CaseIterable {
        case ios
        case fcm = "android-fcm"
        case web
        case windows = "windows8"
    }

    /// The audience of a push: all devices, or a tenth of each platform.
    enum Topic: String, Sendable, CaseIterable {
        case all, some
    }

    let server: Server
    let sender: Sender
    private let apns: Simulator
    private let others: [Part: SimulatedProvider]
    private let devicesOfPart: Int

    func size(of topic: Topic) -> Int { topic == .all ? devicesOfPart : devicesOfPart / 10 }

    /// The process that plays a part's provider.
    func provider(of part: Part) -> Child { others[part]?.child ?? apns.child }

    /// Adds a fault to the script of a part's provider.
    func fail(_ part: Part, _ fault: String) async throws { try await others[part]?.fail(fault) }

    func forget() async throws {
        try await apns.forget()
        for provider in others.values { try await provider.forget() }
    }

    func toldCount(of part: Part) async throws -> Int {
        guard let provider = others[part] else { return try await apns.toldCount() }
        return try await provider.totals().told
    }

    /// The times of a push: how long each part took from the POST until its last device was notified.
    struct Telling: Sendable {
        let receipt: String
        let seconds: [Part: Double]
    }

    /// Posts a push and waits until all devices of these parts are notified.
    func tell(_ topic: Topic, on platform: Part? = nil, waitingFor parts: Set<Part>) async throws -> Telling {
        try await forget()
        let posted = try await sender.push(toTopic: topic.rawValue, on: platform?.rawValue)
        var seconds: [Part: Double] = [:]
        while seconds.count < parts.count {
            try await Task.sleep(for: .milliseconds(20))
            for part in parts where seconds[part] == nil {
                guard try await toldCount(of: part) >= size(of: topic) else { continue }
                seconds[part] = (WallClock.now - posted.sentAt) / 1_000
            }
        }
        return Telling(receipt: posted.receipt, seconds: seconds)
    }

    func strike() async throws {
        try await server.stop()
        for provider in others.values { try await provider.stop() }
    }
}

extension ProviderMix {
    static func build(on environment: BenchmarkEnvironment) async throws -> ProviderMix {
        let (belfry, directory) = (environment.options.belfry, "\(environment.directory)/town")
        // Endpoints of browsers name the provider's port, so a mix of an earlier run is of no use.
        try? FileManager.default.removeItem(atPath: directory)
        let count = environment.options.devices / Part.allCases.count
        let others: [Part: SimulatedProvider] = [
            .fcm: try await .start(
                "fcm", ["--believing"], upTo: "project-id", belfry: belfry, directory: "\(directory)/fcm"),
            .web: try await .start(
                "webpush", ["--subscriptions", "\(count)"], upTo: "endpoints", belfry: belfry,
                directory: "\(directory)/web"),
            .windows: try await .start(
                "wns", upTo: "entra-client-secret", belfry: belfry, directory: "\(directory)/wns"),
        ]
        let identity = try await Server.identity(belfry, "\(directory)/server", environment.simulator)
        var callers = [Part.ios: identity.app]
        for (part, provider) in others {
            callers[part] = try await createPlatform(part, of: identity, for: provider, belfry, "\(directory)/server")
        }
        let server = try await Server.start(
            belfry: belfry, directory: "\(directory)/server", simulator: environment.simulator,
            settings: [
                "BELFRY_FCM_MESSAGES_PER_MINUTE": "1000000000",
                "BELFRY_PROVIDERS_ADDRESSES_ALLOW": "127.0.0.0/8,::1",
            ])
        let mix = ProviderMix(
            server: server, sender: try await Sender(server), apns: environment.simulator, others: others,
            devicesOfPart: count)
        for part in Part.allCases { try await mix.register(part, as: callers[part] ?? "") }
        return mix
    }

    /// - Returns: as whom apps register with the platform.
    private static func createPlatform(
        _ part: Part, of identity: Server.Identity, for provider: SimulatedProvider, _ belfry: String,
        _ directory: String
    ) async throws -> String {
        let credentials = try credentials(part, provider) + ["trust_root=@\(provider.authorityFile)"]
        let ended = try await Child.run(
            [belfry, "platform", "create", "--json", "--app", identity.app_uuid, "--type", part.rawValue]
                + ["--mode", "production", "--name", part.rawValue, "--data-directory", "\(directory)/data"]
                + credentials.flatMap { ["--credential", $0] }, log: "\(directory)/command")
        let created = try JSONDecoder().decode(Server.CreatedPlatform.self, from: Data(ended.output.utf8))
        return Server.Identity.basic(created.platform_uuid, created.platform_secret)
    }

    private static func credentials(_ part: Part, _ provider: SimulatedProvider) throws -> [String] {
        switch part {
        case .ios: []
        case .fcm:
            ["service_account=@\(provider.credentialsFile)", "endpoint=https://localhost:\(provider.port)"]
        case .web: ["subject=mailto:bench@example.org"]
        case .windows:
            [
                "package_sid=\(try provider.fact("package-sid"))", "token_url=\(try provider.fact("token"))",
                "client_secret=\(try provider.fact("client-secret"))", "domain=localhost",
            ]
        }
    }

    private func register(_ part: Part, as caller: String) async throws {
        note("registering \(devicesOfPart.grouped) devices of \(part.rawValue)")
        let tenth = size(of: .some)
        let requests = RegistrationRequests(
            path: "/v1/registration", port: server.port, credentials: caller, kind: try kind(of: part), tagCount: 2
        ) { $0 < tenth ? [Topic.all.rawValue, Topic.some.rawValue] : [Topic.all.rawValue] }
        _ = try await HTTPLoad(port: server.port, connections: 64, write: requests.write).run(0..<devicesOfPart)
    }

    private func kind(of part: Part) throws -> RegistrationRequests.Kind {
        switch part {
        case .ios: return .ios
        case .fcm: return .init(os: "android") { Array(FCMWorkload.token($0).utf8) }
        case .web:
            let file = try String(contentsOfFile: others[.web]?.credentialsFile ?? "", encoding: .utf8)
            let subscriptions = file.utf8.split(separator: UInt8(ascii: "\n"))
            return .init(os: "web") { number in
                subscriptions[number].flatMap { $0 == UInt8(ascii: "\"") ? Array(#"\""#.utf8) : [$0] }
            }
        case .windows:
            let channels = try others[.windows]?.fact("channels") ?? ""
            return .init(os: "windows8") { Array("\(channels)\(Devices.hex($0))".utf8) }
        }
    }
}
