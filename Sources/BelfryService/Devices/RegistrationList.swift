import FoundationEssentials
import Hummingbird

extension PCF {
    /// Handlers of `/v2/registrations` and `/v2/custom_user_ids`.
    struct RegistrationList: Sendable {
        let store: any Store

        private static let chunkSize = 500
        /// The last page that may be asked for. To reach a page, all ids before it are read: a million at most.
        static let customUserIDPagesMax = 20_000

        func registrations(_ request: Request, of application: Application) async throws -> Response {
            let query = request.query
            let page = try PageQuery(query, sizeMin: 0)
            let platforms = try query.platforms(of: try await store.platforms(of: application.key))
            let search = DeviceSearch(
                platforms: platforms.map(\.key), text: try query.text("q"),
                topic: try query["topic"].map { text throws(InvalidInput) in
                    try Topic.normalized(text, field: "topic")
                })
            let time = try query.bool("longer") == true ? DeviceSearch.searchedForLonger : DeviceSearch.searchedFor
            let found = try await store.devices(search, skip: page.skip, limit: page.size, within: time)
            let kinds = platforms.kinds
            var json = JSONWriter()
            json.page("registrations", total: "totalRegistrations", found, page) { json, device in
                device.write(to: &json, kind: kinds[device.platformKey] ?? .ios)
            }
            return Response(json: json.buffer)
        }

        /// All of them, unless the caller requests a page.
        func customUserIDs(_ request: Request, of application: Application) async throws -> Response {
            let query = request.query
            let platforms = try await store.platforms(of: application.key).map(\.key)
            let text = try query.text("q")?.normalized
            let (skip, limit) = try Self.slice(query)
            let counter = Countdown(skip: skip, limit: limit)
            return try await JSONStream<String>(
                frame: (#"{"custom_user_ids":["#, "]}"),
                chunk: { [store] last in
                    try await counter.next(after: last) { after in
                        try await store.customUserIDs(
                            on: platforms, containing: text, after: after, limit: Self.chunkSize)
                    }
                },
                write: { $0.text($1) }
            ).response()
        }

        private static func slice(_ query: QueryItems) throws(InvalidInput) -> (skip: Int, limit: Int) {
            guard query["size"] != nil || query["page"] != nil else { return (0, .max) }
            let page = try PageQuery(query, sizeMin: 1)
            guard page.page <= customUserIDPagesMax else {
                throw InvalidInput(
                    field: "page", "is \(page.page), the limit is \(customUserIDPagesMax); without it all are listed")
            }
            return (page.skip, page.size)
        }
    }
}

/// Takes a page out of a list that is read in chunks.
private actor Countdown {
    private var skip: Int
    private var limit: Int

    init(skip: Int, limit: Int) {
        self.skip = skip
        self.limit = limit
    }

    /// The next elements of the page; none at its end.
    func next(
        after last: String?, _ chunk: @Sendable (String?) async throws -> [String]
    ) async throws -> [String] {
        var last = last
        while limit > 0 {
            let found = try await chunk(last)
            guard let end = found.last else { return [] }
            let wanted = found.dropFirst(skip).prefix(limit)
            skip -= min(skip, found.count)
            limit -= wanted.count
            if !wanted.isEmpty { return Array(wanted) }
            last = end
        }
        return []
    }
}

extension QueryItems {
    /// The platforms that `platform` and `platformUuid` select; a UUID of another application selects none.
    fileprivate func platforms(of all: [Platform]) throws(InvalidInput) -> [Platform] {
        var platforms = all
        if let name = self["platform"], name != "all" {
            guard let kind = PlatformKind(rawValue: name) else {
                let known = (["all"] + PlatformKind.allCases.map(\.rawValue)).joined(separator: ", ")
                throw InvalidInput(field: "platform", "is '\(name)', it has to be one of \(known)")
            }
            platforms.removeAll { !kind.meaning.contains($0.kind) }
        }
        if let text = self["platformUuid"] {
            let uuid = UUID(text: text)
            platforms.removeAll { $0.uuid != uuid }
        }
        return platforms
    }
}

extension [Platform] {
    var kinds: [Key<Platform>: PlatformKind] { Dictionary(uniqueKeysWithValues: map { ($0.key, $0.kind) }) }
}
