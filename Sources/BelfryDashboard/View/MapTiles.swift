/// A server of map tiles.
package struct MapTiles: Sendable, Hashable {
    /// The URL of a tile, with `{z}`, `{x}` and `{y}`.
    package let template: String
    /// The attribution that the map's licence asks for.
    package let attribution: String
    /// The origin that the pages' security policy admits.
    package let origin: String

    /// nil unless the template is an https URL, or http on the browser's own machine, with all three places.
    package init?(template: String, attribution: String) {
        guard let start = ["https://", "http://localhost:", "http://127.0.0.1:"].first(where: template.hasPrefix),
            template.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"\"'<>;,\\".utf8.contains($0) }),
            ["{z}", "{x}", "{y}"].allSatisfy(template.contains)
        else { return nil }
        let host = template.dropFirst(start.utf8.count).prefix { $0 != "/" }
        guard !host.isEmpty, !host.contains("{"), !host.contains("@"), !host.contains("*") else { return nil }
        self.template = template
        self.attribution = attribution
        origin = start + host
    }

    /// Tile servers have no closer ones.
    static let zoomMax = 19

    func url(zoom: Int, x: Int, y: Int) -> String {
        template.replacing("{z}", with: "\(zoom)").replacing("{x}", with: "\(x)").replacing("{y}", with: "\(y)")
    }
}
