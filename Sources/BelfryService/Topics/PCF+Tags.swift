import FoundationEssentials
import Hummingbird

extension PCF {
    /// Handlers of `/v1/tags` for back ends of release 1.5 and before: topics, by their older name.
    struct Tags: Sendable {
        let store: any Store
        let clock: any WallClock
        let options: Options
        let topics: TopicService

        private static let chunkSize = 500

        func list(of application: Application) async throws -> Response {
            try await JSONStream<Topic>(
                frame: (#"{"tags":["#, "]}"),
                chunk: { [store] last in
                    try await store.topics(of: application.key, after: last?.name, limit: Self.chunkSize)
                },
                write: { $0.text($1.name) }
            ).response()
        }

        func registrations(_ request: Request, of application: Application) async throws -> Response {
            let platforms = try await store.platforms(of: application.key)
            let search = DeviceSearch(platforms: platforms.map(\.key), topic: try request.tag())
            let kinds = platforms.kinds
            return try await JSONStream<Device>(
                frame: ("[", "]"),
                chunk: { [store] last in
                    try await store.devices(search, after: last?.key, limit: Self.chunkSize)
                },
                write: { json, device in device.write(to: &json, kind: kinds[device.platformKey] ?? .ios) }
            ).response()
        }

        func count(_ request: Request, of application: Application) async throws -> Response {
            try await count(try request.tag(), on: try await store.platforms(of: application.key))
        }

        func countOnPlatform(_ request: Request, of application: Application) async throws -> Response {
            let text = request.pathPart(fromEnd: 1)
            let platforms = try await store.platforms(of: application.key)
            guard let uuid = UUID(text: text), let platform = platforms.first(where: { $0.uuid == uuid }) else {
                throw APIError(.notFound, "This application has no platform with that UUID")
            }
            return try await count(try request.tag(), on: [platform])
        }

        private func count(_ tag: String, on platforms: [Platform]) async throws -> Response {
            let count = try await store.deviceCount(DeviceSearch(platforms: platforms.map(\.key), topic: tag))
            return Response(json: ByteBuffer(string: String(count)))
        }

        func create(_ request: Request, for application: Application) async throws -> Response {
            let topic = try NewTopic(name: request.pathPart(), now: clock.now, field: "tag ")
            let fates = try await topics.create([topic], of: application, by: .backEnd(of: application))
            return .written { json in
                for fate in fates { json.object { $0.string("text", fate.topic.name) } }
            }
        }

        func delete(_ request: Request, of application: Application) async throws -> Response {
            let name = try request.tag()
            let topic = try await PCF.found("tag '\(name)'") { try await store.topic(named: name, of: application.key) }
            try await topics.delete(topic, of: application, by: .backEnd(of: application))
            return Response(status: .noContent)
        }

        /// Adds tags to all named devices, or to none when one of them cannot have them.
        func subscribe(_ request: Request, of application: Application) async throws -> Response {
            let items = try TagBatch.parse(
                try await request.bytes(atMost: options.bodyBytesMax), UnknownFields(of: application))
            let faults = items.map(\.fault)
            if faults.contains(where: { $0 != nil }) { return TagBatch.refusal(items, faults) }
            let refusals = try await store.subscribe(items.compactMap(\.subscription), of: application.key)
            guard refusals.allSatisfy({ $0 == nil }) else {
                return TagBatch.refusal(items, refusals.map { $0?.inWords })
            }
            return TagBatch.answer(items)
        }
    }
}

extension Request {
    /// The tag that the path ends with.
    fileprivate func tag() throws(InvalidInput) -> String { try Topic.normalized(pathPart(), field: "tag") }
}

extension Subscription.Refusal {
    fileprivate var inWords: String {
        switch self {
        case .unknownDevice: "This application has no such device"
        case .tooManyTopics(let count):
            "The device would have \(count) tags, the limit is \(Registration.topicsMax)"
        }
    }
}
