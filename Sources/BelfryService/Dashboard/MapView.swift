import Glibc

/// The view of a map: the point in its middle, and how close it is.
///
/// Web Mercator, as map tiles are: a circle on the ground is a circle on the map, larger the further it is from the equator.
struct MapFrame: Sendable, Hashable {
    let latitude: Double
    let longitude: Double
    /// The zoom as tile servers count it: the world is 256 units wide at 0, and each step is twice as close.
    let zoom: Int

    static let zooms = 1...20
    /// The zoom at which a circle of 100 m is as wide as a tenth of the map.
    static let zoomOfPlace = 16
    /// The zoom at which a city fills the map.
    static let zoomOfCity = 11
    static let (width, height) = (800.0, 440.0)
    static let tileSide = 256.0
    /// The latitude at which the square of Web Mercator ends.
    static let latitudeMax = 85.0511
    /// Source: WGS 84, the equator.
    private static let metresAround = 40_075_017.0

    static let world = MapFrame(latitude: 25, longitude: 10, zoom: 1)

    /// Takes any numbers, and moves them to the nearest that make sense.
    init(latitude: Double, longitude: Double, zoom: Int) {
        self.latitude = latitude.isFinite ? min(max(latitude, -85), 85) : 0
        self.longitude = longitude.isFinite ? Self.turned(longitude) : 0
        self.zoom = min(max(zoom, Self.zooms.lowerBound), Self.zooms.upperBound)
    }

    /// The closest view with all of these in it; the world when there are none.
    init(around places: [(latitude: Double, longitude: Double)]) {
        guard let first = places.first else {
            self = .world
            return
        }
        var (north, south) = (1.0, 0.0)
        var (west, east) = (0.0, 0.0)
        for place in places {
            let down = Self.down(place.latitude)
            (north, south) = (min(north, down), max(south, down))
            let offset = Self.turned(place.longitude - first.longitude)
            (west, east) = (min(west, offset), max(east, offset))
        }
        let middle = (Self.latitude(down: (north + south) / 2), first.longitude + (west + east) / 2)
        var frame = MapFrame(latitude: middle.0, longitude: middle.1, zoom: Self.zoomOfPlace)
        while frame.zoom > Self.zooms.lowerBound,
            (east - west) / 360 * frame.side > Self.width * 0.8 || (south - north) * frame.side > Self.height * 0.8
        {
            frame = frame.moved(closer: -1)
        }
        self = frame
    }

    /// The width of the whole world, in units of the map.
    var side: Double { Self.tileSide * Double(1 << zoom) }

    func unitsPerMetre(at latitude: Double) -> Double {
        side / (Self.metresAround * max(0.01, cos(latitude * .pi / 180)))
    }

    /// A longitude within half a turn.
    static func turned(_ degrees: Double) -> Double {
        let rest = (degrees + 180).truncatingRemainder(dividingBy: 360)
        return (rest < 0 ? rest + 360 : rest) - 180
    }

    /// How far down the square of the world a latitude is, from 0 to 1.
    static func down(_ latitude: Double) -> Double {
        let sine = sin(min(max(latitude, -latitudeMax), latitudeMax) * .pi / 180)
        return 0.5 - log((1 + sine) / (1 - sine)) / (4 * .pi)
    }

    static func latitude(down: Double) -> Double { (2 * atan(exp(.pi * (1 - 2 * down))) - .pi / 2) * 180 / .pi }

    func x(_ longitude: Double) -> Double { Self.width / 2 + Self.turned(longitude - self.longitude) / 360 * side }

    func y(_ latitude: Double) -> Double {
        Self.height / 2 + (Self.down(latitude) - Self.down(self.latitude)) * side
    }

    func latitude(y: Double) -> Double {
        Self.latitude(down: Self.down(latitude) + (y - Self.height / 2) / side)
    }

    /// Moved by parts of its width and height, and closer by steps.
    func moved(east: Double = 0, north: Double = 0, closer: Int = 0) -> MapFrame {
        MapFrame(
            latitude: north == 0 ? latitude : latitude(y: Self.height / 2 - north * Self.height),
            longitude: longitude + east * Self.width / side * 360, zoom: zoom + closer)
    }

    /// The metres between two points. Source: the haversine formula, on a sphere of 6,371 km.
    static func metres(
        _ first: (latitude: Double, longitude: Double), _ second: (latitude: Double, longitude: Double)
    ) -> Double {
        let radians = Double.pi / 180
        let (a, b) = (
            sin((second.latitude - first.latitude) * radians / 2),
            sin((second.longitude - first.longitude) * radians / 2)
        )
        let h = a * a + cos(first.latitude * radians) * cos(second.latitude * radians) * b * b
        return 2 * 6_371_000 * asin(min(1, h.squareRoot()))
    }
}

/// A part of the world as an SVG: tiles or an outline of the land, a graticule, a scale bar and circles.
struct MapView: Component {
    let label: String
    /// The world, as often as it is in sight.
    let land: [Square]
    let tiles: [Square]
    let attribution: String
    /// The view, for scripts that place a circle by the pointer, and the least radius that it may have.
    let frame: String
    let lines: [Line]
    let circles: [Circle]
    /// The path of a cross at a point.
    let cross: String?
    let bar: Bar
    /// The way to the nearest circle, where none is in sight.
    let nearest: Link?
    let moves: [Link]
    /// The largest cities in sight, on a map without tiles.
    let towns: [CityMark]
    /// The nearest city where none is in sight, and the source of the cities.
    let caption: String

    struct CityMark: Component {
        let x: String
        let y: String
        let textY: String
        let name: String

        var content: [any HTML] {
            Tag("circle", ["class": "town", "cx": x, "cy": y, "r": "2.5"])
            Tag("text", ["class": "town", "x": x, "y": textY, "text-anchor": "middle"], name)
        }
    }

    /// A picture that is as high as it is wide.
    struct Square: Component {
        let href: String
        let x: String
        let y: String
        let side: String

        var content: [any HTML] {
            Tag("image", ["href": href, "x": x, "y": y, "width": side, "height": side])
        }
    }

    struct Line: Component {
        let x1: String
        let y1: String
        let x2: String
        let y2: String
        let textX: String
        let textY: String
        let text: String

        var content: [any HTML] {
            Tag("line", ["x1": x1, "y1": y1, "x2": x2, "y2": y2])
            Tag("text", ["x": textX, "y": textY], text)
        }
    }

    struct Circle: Component {
        let x: String
        let y: String
        let radius: String
        let textY: String
        let name: String
        /// Empty where there are too many to be read.
        let text: String
        let href: String
        let tone: String

        var content: [any HTML] {
            Tag("a", ["href": href, "aria-label": name]) {
                Tag("title", name)
                Tag("circle", ["class": tone, "cx": x, "cy": y, "r": radius])
                Tag("text", ["class": "name", "x": x, "y": textY, "text-anchor": "middle"], text)
            }
        }
    }

    struct Bar: Sendable {
        let path: String
        let text: String
    }

    /// A circle before it is drawn.
    struct Spot: Sendable {
        let name: String
        let latitude: Double
        let longitude: Double
        /// The radius in metres.
        let radius: Double
        let href: String
        /// Whether something happens there now.
        let isActive: Bool
    }

    /// Closer than this the outline says nothing: it is known to some kilometres.
    private static let landZoomMax = 8
    private static let townsMax = 12
    /// The most names on a map: more would cover one another.
    private static let namesMax = 40

    /// - Parameters:
    ///   - point: gets a cross.
    ///   - link: the address of the same page for another frame.
    init(
        _ frame: MapFrame, _ spots: [Spot], on server: MapTiles? = nil,
        point: (latitude: Double, longitude: Double)? = nil, link: (MapFrame) -> String
    ) {
        label = "Map around \(frame.latitude.degrees("N", "S")), \(frame.longitude.degrees("E", "W"))"
        self.frame = "\(frame.latitude) \(frame.longitude) \(frame.zoom) \(Place.radiusMin)"
        let server = frame.zoom > MapTiles.zoomMax ? nil : server
        tiles = server.map { Self.tiles(frame, $0) } ?? []
        attribution = server?.attribution ?? ""
        land = server != nil || frame.zoom > Self.landZoomMax ? [] : Self.land(frame)
        lines = Self.graticule(frame)
        let seen = spots.filter { spot in
            let (x, y, reach) = (frame.x(spot.longitude), frame.y(spot.latitude), Self.units(spot, frame))
            return x > -reach && x < MapFrame.width + reach && y > -reach && y < MapFrame.height + reach
        }
        var named: [(x: Double, y: Double)] = []
        circles = seen.map { spot in
            let (x, y) = (frame.x(spot.longitude), frame.y(spot.latitude))
            let radius = max(5, Self.units(spot, frame))
            let top = y - min(radius, 150) - 5
            // A name that would lie on another is left out.
            let isFree = !named.contains { ($0.x - x).magnitude < 150 && ($0.y - top).magnitude < 15 }
            if isFree { named.append((x, top)) }
            return Circle(
                x: x.short, y: y.short, radius: radius.short, textY: top.short, name: spot.name,
                text: isFree && named.count <= Self.namesMax ? spot.name.cut(28) : "", href: spot.href,
                tone: spot.isActive ? "active" : "")
        }
        towns =
            server != nil
            ? []
            : Cities.all.within(frame, limit: 60).compactMap { city in
                let (x, y) = (frame.x(city.point.longitude), frame.y(city.point.latitude))
                guard !named.contains(where: { ($0.x - x).magnitude < 110 && ($0.y - y).magnitude < 20 }) else {
                    return nil
                }
                named.append((x, y))
                return CityMark(x: x.short, y: y.short, textY: (y - 5).short, name: city.name.cut(28))
            }.prefix(Self.townsMax).map(\.self)
        caption = server != nil ? "" : Self.caption(frame, isEmpty: towns.isEmpty)
        cross = point.map { point in
            let (x, y) = (frame.x(point.longitude), frame.y(point.latitude))
            return "M\((x - 9).short) \(y.short)h18M\(x.short) \((y - 9).short)v18"
        }
        bar = Self.bar(frame)
        nearest = seen.isEmpty ? Self.nearest(spots, frame, link) : nil
        moves = [
            ("Closer", frame.moved(closer: 1)), ("Further away", frame.moved(closer: -1)),
            ("↑ North", frame.moved(north: 0.5)), ("↓ South", frame.moved(north: -0.5)),
            ("← West", frame.moved(east: -0.5)), ("East →", frame.moved(east: 0.5)),
        ].filter { $0.1 != frame }.map { Link($0.0, link($0.1)) }
    }

    func write(to page: inout HTMLWriter) {
        page.hasTiles = page.hasTiles || !tiles.isEmpty
        page.write(content)
    }

    var content: [any HTML] {
        let (width, height) = (Int(MapFrame.width), Int(MapFrame.height))
        Tag("div", ["class": "map"]) {
            Tag(
                "svg",
                [
                    "preserveAspectRatio": "xMidYMid slice", "data-frame": frame, "viewBox": "0 0 \(width) \(height)",
                    "role": "group", "aria-label": label,
                ]
            ) {
                land
                tiles
                lines
                towns
                circles
                if let cross { Tag("path", ["class": "cross", "d": cross]) }
                Tag("path", ["class": "bar", "d": bar.path])
                Tag("text", ["x": 400, "y": 418, "text-anchor": "middle"], bar.text)
            }
            if let nearest { Tag("p", ["class": "hint"]) { nearest } }
            Tag("p", ["class": "hint"], attribution)
            Tag("p", ["class": "hint"], caption)
            Tag("nav", ["class": "row", "aria-label": "Move the map"]) { moves.map(\.button) }
        }
    }

    private static let directions = [
        "east", "south-east", "south", "south-west", "west", "north-west", "north", "north-east",
    ]

    private static func nearest(_ spots: [Spot], _ frame: MapFrame, _ link: (MapFrame) -> String) -> Link? {
        let middle = (frame.latitude, frame.longitude)
        let distances = spots.map { (MapFrame.metres(middle, ($0.latitude, $0.longitude)), $0) }
        guard let (metres, spot) = distances.min(by: { $0.0 < $1.0 }) else { return nil }
        return Link(
            "Nearest: \(spot.name), \(distance(metres)) to the \(direction(spot.latitude, spot.longitude, frame))",
            link(MapFrame(latitude: spot.latitude, longitude: spot.longitude, zoom: frame.zoom)))
    }

    private static func direction(_ latitude: Double, _ longitude: Double, _ frame: MapFrame) -> String {
        let angle = atan2(frame.y(latitude) - MapFrame.height / 2, frame.x(longitude) - MapFrame.width / 2)
        return directions[(Int((angle / (.pi / 4)).rounded()) + 8) % 8]
    }

    private static func caption(_ frame: MapFrame, isEmpty: Bool) -> String {
        let source = "Cities: GeoNames, CC BY 4.0."
        guard isEmpty, let found = Cities.all.nearest(to: MapPoint(frame.latitude, frame.longitude)) else {
            return source
        }
        let point = found.city.point
        let way = direction(point.latitude, point.longitude, frame)
        return "Nearest city: \(found.city.words), \(distance(found.metres)) to the \(way). \(source)"
    }

    private static func distance(_ metres: Double) -> String {
        metres < 1_000 ? "\(Int(metres)) m" : "\(Int(metres / 1_000).grouped) km"
    }

    private static func units(_ spot: Spot, _ frame: MapFrame) -> Double {
        // Larger than the map it makes no difference how large.
        min(spot.radius * frame.unitsPerMetre(at: spot.latitude), 100_000)
    }

    private static func land(_ frame: MapFrame) -> [Square] {
        let west = MapFrame.width / 2 - (frame.longitude + 180) / 360 * frame.side
        let top = frame.y(MapFrame.latitudeMax).short
        return [-2.0, -1, 0, 1, 2].map { west + $0 * frame.side }
            .filter { $0 < MapFrame.width && $0 + frame.side > 0 }
            .map { Square(href: Asset.address("world.svg"), x: $0.short, y: top, side: frame.side.short) }
    }

    private static func tiles(_ frame: MapFrame, _ server: MapTiles) -> [Square] {
        let count = 1 << frame.zoom
        // The map's upper left corner, in units from that of the world.
        let left = (frame.longitude + 180) / 360 * frame.side - MapFrame.width / 2
        let top = MapFrame.down(frame.latitude) * frame.side - MapFrame.height / 2
        return numbers(top, MapFrame.height).clamped(to: 0...(count - 1)).flatMap { row in
            numbers(left, MapFrame.width).map { column in
                Square(
                    href: server.url(zoom: frame.zoom, x: ((column % count) + count) % count, y: row),
                    x: (Double(column) * MapFrame.tileSide - left).short,
                    y: (Double(row) * MapFrame.tileSide - top).short, side: MapFrame.tileSide.short)
            }
        }
    }

    /// The numbers of the tiles that a stretch goes over.
    private static func numbers(_ start: Double, _ length: Double) -> ClosedRange<Int> {
        let ends = [start, start + length].map { Int(($0 / MapFrame.tileSide).rounded(.down)) }
        return ends[0]...ends[1]
    }

    // MARK: Graticule and scale

    private static let steps = [
        60, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001,
    ]

    private static func step(_ units: Double) -> Double { steps.last { $0 * units >= 80 } ?? 60 }

    private static func graticule(_ frame: MapFrame) -> [Line] {
        let (right, foot) = (MapFrame.width, MapFrame.height)
        let perDegree = frame.side / 360
        let high = step(perDegree / max(0.05, cos(frame.latitude * .pi / 180)))
        let north = min(MapFrame.latitudeMax, frame.latitude(y: 0))
        let south = max(-MapFrame.latitudeMax, frame.latitude(y: foot))
        var lines = numbers(from: south, to: north, by: high).map { degrees in
            let y = frame.y(degrees)
            return Line(
                x1: "0", y1: y.short, x2: right.short, y2: y.short, textX: "4", textY: (y - 3).short,
                // At the top the degrees of longitude stand.
                text: y < 28 ? "" : degrees.degrees("N", "S"))
        }
        let reach = right / 2 / perDegree
        lines += numbers(from: frame.longitude - reach, to: frame.longitude + reach, by: step(perDegree)).map {
            degrees in
            let x = right / 2 + (degrees - frame.longitude) * perDegree
            return Line(
                x1: x.short, y1: "0", x2: x.short, y2: foot.short, textX: (x + 3).short, textY: "12",
                text: MapFrame.turned(degrees).degrees("E", "W"))
        }
        return lines
    }

    private static func numbers(from start: Double, to end: Double, by step: Double) -> [Double] {
        let first = (start / step).rounded(.up)
        let count = Int(min(40, max(0, (end / step).rounded(.down) - first + 1)))
        return (0..<count).map { (first + Double($0)) * step }
    }

    /// The longest round number of metres that is no longer than a fifth of the map.
    private static func bar(_ frame: MapFrame) -> Bar {
        let units = frame.unitsPerMetre(at: frame.latitude)
        var metres = 1.0
        var factor = 0
        while metres * [2, 2.5, 2][factor % 3] * units < MapFrame.width / 5 {
            metres *= [2, 2.5, 2][factor % 3]
            factor += 1
        }
        let length = metres * units
        // In the middle, which the narrowest screens show too.
        let (x, y) = ((MapFrame.width - length) / 2, MapFrame.height - 12)
        return Bar(
            path: "M\(x.short) \((y - 6).short)v6h\(length.short)v-6",
            text: distance(metres))
    }
}

extension Double {
    /// An angle with its direction, as exact as a graticule needs.
    fileprivate func degrees(_ positive: String, _ negative: String) -> String {
        let rounded = (magnitude * 10_000).rounded() / 10_000
        let text = rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
        return rounded == 0 ? "0°" : "\(text)° \(self < 0 ? negative : positive)"
    }
}

extension String {
    fileprivate func cut(_ length: Int) -> String { count > length ? "\(prefix(length - 1))…" : self }
}

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
