import FoundationEssentials
import Hummingbird

extension Admin {
    /// The devices that would get a push: `/admin/v1/apps/:app_uuid/audience`.
    struct Audiences: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.post, "apps/:app_uuid/audience/count", .read, count),
                factory.application(.post, "apps/:app_uuid/audience/sample", .read, sample),
            ]
        }

        /// Counts exactly for a second, then estimates.
        private func count(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: AudienceBody.self)
            let (target, draft) = try await audience(of: body, application)
            let deadline = ContinuousClock.now + (body.isEstimated ? .zero : .seconds(1))
            let sizes = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.size(of: draft, by: deadline)
            }
            return try Response(AudienceCountReply(target, draft.platforms, sizes))
        }

        /// The first devices, by their keys.
        private func sample(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: AudienceBody.self)
            let (target, draft) = try await audience(of: body, application)
            let devices = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.sample(of: draft, atMost: body.limit)
            }
            return .object { json in
                json.array("devices", devices) { json, found in
                    json.object { $0.device(found.device, on: found.platform) }
                }
                json.string("where", target.expression?.text)
            }
        }

        private func audience(
            of body: AudienceBody, _ application: Application
        ) async throws -> (Target, AudienceDraft) {
            let target = try body.target()
            do {
                return (target, try await factory.pushes.audience(of: target, for: application.key))
            } catch let fault as InvalidInput where body.named == nil {
                throw fault.renamed(["target.where": "where"])
            }
        }
    }

    private struct AudienceBody: Body {
        static let fields = ["where", "target", "estimate", "limit"]
        private var expression: AudienceExpression?
        private(set) var named: TargetBody?
        private(set) var isEstimated = false
        private(set) var limit = 10

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "where": expression = try AudienceExpression(json: reader.value(field), field: field)
            case "target": named = try TargetBody(field, from: &reader)
            case "estimate": isEstimated = try reader.bool(field) ?? false
            default:
                guard let number = try reader.integer(field) else { return }
                guard 1...100 ~= number else {
                    throw InvalidInput(field: field, "is \(number), it has to be 1 to 100")
                }
                limit = Int(number)
            }
        }

        func target() throws(InvalidInput) -> Target {
            if let named {
                guard expression == nil else { throw InvalidInput(field: "where", "and target exclude each other") }
                guard named.channels == nil else {
                    throw InvalidInput(field: "target.channels", "have subscribers that only Apple counts")
                }
                return try named.checked(channels: nil)
            }
            return Target(try expression.given(as: "where"))
        }
    }

    package struct AudienceCountReply: Codable, Sendable {
        package let devices: Int
        package let is_exact: Bool
        /// Half of the interval that holds the true number in 95 of 100 cases; 0 where the number is exact.
        package let margin: Int
        package let platforms: [PlatformSize]
        /// The text form of an expression.
        @OrNull package var `where`: String?

        package struct PlatformSize: Codable, Sendable {
            package let platform_uuid: String
            package let type: String
            package let devices: Int
        }

        init(_ target: Target, _ platforms: [Platform], _ sizes: [AudienceSize]) {
            let size = sizes.reduce(AudienceSize(devices: 0), +)
            devices = size.devices
            is_exact = size.margin == nil
            margin = size.margin ?? 0
            self.platforms = zip(platforms, sizes).map {
                PlatformSize(platform_uuid: $0.uuid.lowercased, type: $0.kind.rawValue, devices: $1.devices)
            }
            _where = OrNull(wrappedValue: target.expression?.text)
        }
    }
}
