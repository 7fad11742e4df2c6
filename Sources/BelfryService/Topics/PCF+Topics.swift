import Hummingbird

extension PCF {
    /// Handlers of `/v2/topics`.
    struct Topics: Sendable {
        let store: any Store
        let clock: any WallClock
        let options: Options
        let topics: TopicService

        func list(_ request: Request, of application: Application) async throws -> Response {
            let query = request.query
            let page = try PageQuery(query, sizeMin: 1)
            let topics = TopicQuery(
                applicationKey: application.key, text: try query.text("q"), hasExpiry: try query.bool("hasExpiry"))
            let found = try await store.topics(topics, skip: page.skip, limit: page.size)
            return .written { $0.page("topics", total: "totalTopics", found, page) { $1.write(to: &$0) } }
        }

        /// An existing topic is returned as it is.
        func create(_ request: Request, for application: Application) async throws -> Response {
            let body = try TopicRequest.parse(
                try await request.bytes(atMost: options.bodyBytesMax), UnknownFields(of: application))
            let fates = try await self.topics.create(
                [try body.topic(at: clock.now)], of: application, by: .backEnd(of: application))
            return Response.written(status: .created) { json in
                for fate in fates { fate.topic.write(to: &json) }
            }.warning(of: body.ignored)
        }

        func createBatch(_ request: Request, for application: Application) async throws -> Response {
            let body = try TopicBatchRequest.parse(
                try await request.bytes(atMost: options.bodyBytesMax), UnknownFields(of: application))
            let now = clock.now
            let topics = try body.topics.enumerated().map { try $1.topic(at: now, field: "topics[\($0)].") }
            let fates = try await self.topics.create(topics, of: application, by: .backEnd(of: application))
            let created = fates.count { if case .created = $0 { true } else { false } }
            return .object(status: .created) { json in
                json.integer("numTopicsCreated", Int64(created))
                json.integer("numTopicsExisted", Int64(fates.count - created))
                if body.returnsTopics { json.array("topics", fates) { $1.topic.write(to: &$0) } }
            }
        }

        func delete(_ request: Request, of application: Application) async throws -> Response {
            let text = request.pathPart()
            guard let id = Int64(text),
                try await self.topics.delete([Key(id)], of: application, by: .backEnd(of: application)) == 1
            else {
                throw APIError(.notFound, "This application has no topic \(text)")
            }
            return Response(status: .noContent)
        }

        /// Unknown ids are ignored.
        func deleteBatch(_ request: Request, of application: Application) async throws -> Response {
            let body = try TopicDeletion.parse(try await request.bytes(atMost: options.bodyBytesMax))
            let count = try await self.topics.delete(body.keys, of: application, by: .backEnd(of: application))
            return .object { $0.integer("numTopicsDeleted", Int64(count)) }
        }
    }
}

extension Topic {
    /// `expireAt` is left out for a topic that does not expire.
    fileprivate func write(to json: inout JSONWriter) {
        json.object { json in
            json.integer("id", key.rawValue)
            json.string("name", name)
            if let expiresAt { json.integer("expireAt", expiresAt.milliseconds) }
        }
    }
}
