import FoundationEssentials
import Hummingbird

extension Admin {
    /// Saved segments: `/admin/v1/apps/:app_uuid/segments`, by their names.
    struct Segments: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/segments", .read, list),
                factory.application(.post, "apps/:app_uuid/segments", .change, create),
                factory.application(.get, "apps/:app_uuid/segments/:segment", .read, show),
                factory.application(.patch, "apps/:app_uuid/segments/:segment", .change, update),
                factory.application(.delete, "apps/:app_uuid/segments/:segment", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let segments = try await factory.store.segments(of: application.key)
            return try Response(SegmentsReply(segments: segments.map { SegmentReply($0) }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: SegmentBody.self)
            let segment = try await factory.services.segments.create(
                try body.requiredName(), try body.requiredExpression(), of: application, by: call.author)
            return try .created(SegmentReply(segment))
        }

        /// Shows the segment with its earlier versions, its sizes and what uses it.
        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let segment = try await found(call, application)
            var reply = SegmentReply(segment)
            reply.versions = try await factory.store.versions(of: segment.key).map(SegmentReply.Version.init)
            reply.sizes = try await factory.store.points(of: segment.key, limit: 90).map(SegmentReply.Size.init)
            reply.used_by = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.services.segments.users(of: segment.name, application.key).map(\.words)
            }
            return try Response(reply)
        }

        private func update(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: SegmentBody.self)
            let segment = try await found(call, application)
            guard body.name ?? segment.name == segment.name else {
                throw InvalidInput(field: "name", "stays: make another segment")
            }
            return try Response(
                SegmentReply(
                    try await factory.services.segments.change(
                        segment.name, of: application, to: try body.requiredExpression(), by: call.author)))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            let name = try await found(call, application).name
            try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.services.segments.delete(name, of: application, by: call.author)
            }
            return Response(status: .noContent)
        }

        private func found(_ call: Call, _ application: Application) async throws -> Segment {
            let name = (try call.text("segment") ?? "").asName
            return try await factory.store.segment(named: name, of: application.key).orMissing("segment")
        }
    }

    private struct SegmentBody: Body {
        static let fields = ["name", "where"]
        private(set) var name: String?
        private var expression: AudienceExpression?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            default: expression = try AudienceExpression(json: reader.value(field), field: field)
            }
        }

        func requiredName() throws(InvalidInput) -> String { try Segment.checked(name: name.given(as: "name")) }

        func requiredExpression() throws(InvalidInput) -> AudienceExpression { try expression.given(as: "where") }
    }

    package struct SegmentsReply: Codable, Sendable {
        package let segments: [SegmentReply]
    }

    package struct SegmentReply: Codable, Sendable {
        package let name: String
        /// The text form of its expression.
        package let `where`: String
        package let version: Int64
        package let created_at: String
        package let updated_at: String
        package var versions: [Version]?
        /// One for each day, the newest first.
        package var sizes: [Size]?
        package var used_by: [String]?

        package struct Version: Codable, Sendable {
            package let version: Int64
            package let `where`: String
            package let replaced_at: String

            init(_ version: Segment.Earlier) {
                self.version = version.version
                `where` = version.contents.text
                replaced_at = version.replacedAt.text
            }
        }

        package struct Size: Codable, Sendable {
            package let day: String
            package let devices: Int
            package let margin: Int

            init(_ point: SegmentPoint) {
                day = String(point.day.text.prefix(10))
                devices = point.size.devices
                margin = point.size.margin ?? 0
            }
        }

        init(_ segment: Segment) {
            name = segment.name
            `where` = segment.expression.text
            version = segment.version
            created_at = segment.createdAt.text
            updated_at = segment.updatedAt.text
        }
    }
}
