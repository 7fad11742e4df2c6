import Hummingbird

extension PCF {
    /// The `size` and `page` of a list, and the corresponding numbers of the response.
    struct PageQuery: Sendable, Hashable {
        let size: Int
        let page: Int

        /// Larger sizes are reduced to it.
        static let sizeMax = 50
        private static let sizeUsual = 20

        init(_ query: QueryItems, sizeMin: Int) throws(InvalidInput) {
            size = min(try query.integer("size", from: sizeMin) ?? Self.sizeUsual, Self.sizeMax)
            page = try query.integer("page", from: 1) ?? 1
        }

        var skip: Int {
            let (skip, overflow) = size.multipliedReportingOverflow(by: page - 1)
            return overflow ? .max : skip
        }

        func pages(of total: Int) -> Int { size == 0 ? 0 : (total + size - 1) / size }
    }
}

extension JSONWriter {
    /// The elements of a page, the four numbers that go with them, and a mark where they are of a part alone.
    mutating func page<Element>(
        _ key: StaticString, total: StaticString, _ listing: ListPage<Element>, _ query: PCF.PageQuery,
        _ write: (inout JSONWriter, Element) -> Void
    ) {
        object { json in
            json.array(key, listing.elements, write)
            json.integer(total, Int64(listing.total))
            json.integer("totalPages", Int64(query.pages(of: listing.total)))
            json.integer("page", Int64(query.page))
            json.integer("size", Int64(query.size))
            if listing.isPartial { json.bool("partial", true) }
        }
    }
}
