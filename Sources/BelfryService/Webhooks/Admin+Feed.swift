import FoundationEssentials
import Hummingbird
import NIOCore

extension Admin {
    /// The events of an application for systems that fetch them: `/admin/v1/apps/:app_uuid/feed`.
    struct Feed: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            let path = "apps/:app_uuid/feed"
            return [
                factory.application(.get, path, .read, show), factory.application(.put, path, .change, set),
                factory.application(.get, "\(path)/:event_id", .read, event),
            ]
        }

        /// A reader that waits holds a part of the share of streams, and no thread; without room there it is answered at once.
        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let query = try FeedQuery(call)
            let feed = try await factory.store.webhookFeed(of: application.key)
            guard !feed.kinds.isEmpty else {
                throw APIError(
                    .conflict, "The feed is off: PUT it with the kinds of events to keep, or `belfry webhook feed set`")
            }
            let after = query.after ?? feed.first - 1
            guard after <= feed.last else {
                throw InvalidInput(field: "after", "is beyond the newest event of this feed, \(feed.last)")
            }
            let kinds = query.kinds ?? feed.kinds
            guard kinds.isSubset(of: feed.kinds) else {
                let missing = kinds.subtracting(feed.kinds).names.joined(separator: ", ")
                throw InvalidInput(field: "kinds", "has \(missing), which the feed does not keep")
            }
            let holder = ShareHolder(call.key, application)
            let waiting = query.wait > .zero ? try? factory.shares.take(.streams, for: holder) : nil
            let lease = try waiting ?? factory.shares.take(.exports, for: holder)
            defer { lease.end() }
            let wait = waiting == nil ? .zero : query.wait
            return Response(json: try await page(after, query.limit, kinds, of: application, wait: wait))
        }

        /// Events are read so many at a time, so that a page takes little more memory than it may.
        private static let step = 100
        private static let pageBytesMax = 1 << 20

        private func page(
            _ after: Int64, _ limit: Int, _ kinds: WebhookKinds, of application: Application, wait: Duration
        ) async throws -> ByteBuffer {
            var text = #"{"events":["#
            let end = factory.clock.now + wait
            var (next, count) = (after, 0)
            while count < limit, text.utf8.count < Self.pageBytesMax {
                let rest = text.hasSuffix("[") ? max(.zero, end - factory.clock.now) : .zero
                let page = try await factory.services.webhooks.feed(
                    of: application.key, after: next, kinds: kinds, limit: min(limit - count, Self.step),
                    wait: rest)
                guard page.next > next else { break }
                var elements = page.events.map { $0.element(of: application.uuid) }
                if page.dropped > 0 {
                    elements.insert(
                        page.droppedElement(after: next, of: application.uuid, at: factory.clock.now), at: 0)
                }
                if !elements.isEmpty { text += (text.hasSuffix("[") ? "" : ",") + elements.joined(separator: ",") }
                count += Int(page.next - next - page.dropped)
                next = page.next
            }
            text += #"],"next":"\#(next)"}"#
            return ByteBuffer(string: text)
        }

        private func set(_ call: Call, _ application: Application) async throws -> Response {
            guard let kinds = try await call.body(as: FeedBody.self).kinds else { throw InvalidInput.missing("kinds") }
            try await factory.services.webhooks.setFeed(kinds, of: application, by: call.author)
            let feed = try await factory.store.webhookFeed(of: application.key)
            return try Response(FeedReply(kinds: feed.kinds.names, next: "\(feed.last)"))
        }

        /// An event as it is posted, for as long as it is kept.
        private func event(_ call: Call, _ application: Application) async throws -> Response {
            let key = try WebhookEvent.key(call.text("event_id") ?? "").orMissing("event")
            let event = try await factory.store.webhookEvent(key, of: application.key).orMissing("event")
            return Response(json: ByteBuffer(string: event.element(of: application.uuid)))
        }
    }

    private struct FeedQuery {
        /// The place after which events are asked for; nil for the oldest that is kept.
        let after: Int64?
        let limit: Int
        let kinds: WebhookKinds?
        let wait: Duration

        init(_ call: Call) throws {
            let query = try Query(call, ["after", "limit", "kinds", "wait"])
            func number(_ name: String, _ range: ClosedRange<Int64>) throws(InvalidInput) -> Int64? {
                guard let text = query.text(name) else { return nil }
                guard let number = Int64(text), range ~= number else {
                    throw InvalidInput(
                        field: name,
                        range.upperBound == .max
                            ? "was not issued by this feed"
                            : "is '\(text)', it has to be \(range.lowerBound) to \(range.upperBound)")
                }
                return number
            }
            after = try number("after", 0...Int64.max)
            limit = Int(try number("limit", 1...Int64(WebhookFeedPage.limitMax)) ?? 100)
            let asked = try number("wait", 0...WebhookFeedPage.waitMax.components.seconds) ?? 0
            // A connection is closed whose request takes 30 s (`http.request.seconds`).
            wait = min(.seconds(asked), .seconds(25))
            let names = query.text("kinds")?.split(separator: ",").map(String.init)
            kinds = try names.map { names throws(InvalidInput) in try WebhookKinds(names, field: "kinds") }
        }
    }

    private struct FeedBody: Body {
        static let fields = ["kinds"]
        private(set) var kinds: WebhookKinds?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            guard let names = try reader.strings(field) else { return }
            kinds = try WebhookKinds(names, field: field)
        }
    }

    private struct FeedReply: Encodable {
        let kinds: [String]
        /// The place after the newest event.
        let next: String
    }
}

extension WebhookEvent {
    /// The event in JSON, with its id and its place in the feed.
    fileprivate func element(of application: UUID) -> String {
        #"{"id":"\#(id)","cursor":"\#(position)","# + message(of: application).dropFirst()
    }
}

extension WebhookFeedPage {
    /// Stands in the place of events that are no longer kept.
    ///
    /// - Parameter after: the place that was asked for.
    fileprivate func droppedElement(after: Int64, of application: UUID, at now: Instant) -> String {
        let message = WebhookEvent.message(
            "events.dropped", at: now, of: application, data: #"{"count":\#(dropped)}"#)
        return #"{"id":"dropped_\#(after)","cursor":"\#(after + dropped)","# + message.dropFirst()
    }
}
