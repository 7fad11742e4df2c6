import BelfryService
import Hummingbird

extension GeoListQuery {
    /// `page`, `size`, `timestamp` and `q` of a list; a missing or empty one counts as not given.
    init(_ request: Request) throws(InvalidInput) {
        let query = request.uri.queryParameters
        let page = try query.integer("page", from: 1) ?? 1
        let size = try query.integer("size", from: 1) ?? 25
        let timestamp = try query.integer("timestamp", from: 0)
        self.init(
            page: Int(page), size: Int(min(size, Int64(GeoListQuery.sizeMax))),
            changedSince: timestamp.map(Instant.init(milliseconds:)) ?? .distantPast,
            keyword: query["q"].map(String.init) ?? "")
    }
}

extension Parameters {
    fileprivate func integer(_ name: String, from least: Int64) throws(InvalidInput) -> Int64? {
        guard let text = self[name[...]], !text.isEmpty else { return nil }
        guard let integer = Int64(text), integer >= least else {
            throw InvalidInput(field: name, "has to be a whole number from \(least)")
        }
        return integer
    }
}

extension JSONWriter {
    /// One page of a list, under the names that each list has.
    mutating func listing<Item: Sendable>(
        _ listing: ListPage<Item>, _ query: GeoListQuery, key: StaticString, total: StaticString,
        _ write: (inout JSONWriter, Item) -> Void
    ) {
        object { json in
            json.integer("size", Int64(query.size))
            json.integer(total, Int64(listing.total))
            json.integer("totalPages", Int64((listing.total + query.size - 1) / query.size))
            json.integer("page", Int64(query.page))
            json.array(key, listing.elements, write)
        }
    }
}
