import BelfryService

/// Some devices of a list whose provider is asked what it would do with a message to them.
struct ImportSample {
    private let service: OperatorService
    private let platforms: [Platform]
    private var tokens: [Key<Platform>: [DeviceToken]] = [:]
    /// How many tokens had which outcome.
    private(set) var counts: [String: Int] = [:]
    private var seen: [Key<Platform>: Int] = [:]
    private var generator = SystemRandomNumberGenerator()

    /// The most tokens of each platform.
    private static let tokensMax = 100

    init(service: OperatorService, platforms: [Platform]) {
        self.service = service
        self.platforms = platforms
    }

    /// Each row of the list is as likely to be in the sample as any other.
    mutating func take(_ rows: [ImportReader.Row]) {
        let dealt = ImportPlatforms(platforms)
        for row in rows {
            guard let read = try? row.outcome.get(), let platform = try? dealt.platform(for: read),
                let token = try? read.device(for: platform.kind).registration.token
            else { continue }
            seen[platform.key, default: 0] += 1
            var kept = tokens[platform.key] ?? []
            if kept.count < Self.tokensMax {
                kept.append(token)
            } else {
                let place = Int.random(in: 0..<(seen[platform.key] ?? 1), using: &generator)
                if place < Self.tokensMax { kept[place] = token }
            }
            tokens[platform.key] = kept
        }
    }

    mutating func ask() async throws {
        for platform in platforms {
            guard let tokens = tokens[platform.key],
                let outcomes = try await service.admin.validate(tokens, of: platform)
            else { continue }
            for outcome in outcomes { counts[outcome.name, default: 0] += 1 }
        }
    }
}

extension Outcome {
    fileprivate var name: String {
        switch self {
        case .accepted: "accepted"
        case .refused: "refused"
        case .gone: "gone"
        default: "not answered"
        }
    }
}
