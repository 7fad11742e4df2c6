/// A city of the list that the server has of the world.
struct City: Sendable, Hashable {
    let name: String
    let country: String
    /// In hundredths of a degree.
    let latitude: Int
    let longitude: Int

    var point: MapPoint { MapPoint(Double(latitude) / 100, Double(longitude) / 100) }
    var words: String { name == country ? name : "\(name), \(country)" }
}

/// The cities of `dashboard/places.txt`, the largest first, found by the beginning of any word of their names.
struct Cities: Sendable {
    private let cities: [City]
    /// Each name from each of its words on, folded and in the order of its bytes, with the city's number.
    private let words: [(text: String, city: Int)]

    /// Made at the first use, off the event loops, as pages are.
    static let all = Cities(Asset.bytes("places.txt") ?? [])

    static let answersMax = 8
    private static let queryBytesMax = 100

    init(_ bytes: [UInt8]) {
        var (cities, words): ([City], [(text: String, city: Int)]) = ([], [])
        for line in bytes.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
            let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard parts.count == 5, let latitude = Int(parts[3]), let longitude = Int(parts[4]) else { continue }
            for name in [parts[0]] + parts[1].split(separator: "|").map(String.init) {
                var rest = name.withoutMarks[...]
                while !rest.isEmpty {
                    words.append((String(rest), cities.count))
                    rest = rest.drop { $0 != " " }.drop { $0 == " " }
                }
            }
            cities.append(City(name: parts[0], country: parts[2], latitude: latitude, longitude: longitude))
        }
        self.cities = cities
        self.words = words.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    }

    /// The cities whose name has a word that begins so, those of the whole name first, then the largest. A country may stand after a comma.
    func search(_ text: String) -> [City] {
        guard text.utf8.count <= Self.queryBytesMax else { return [] }
        let parts = text.withoutMarks.split(separator: ",", maxSplits: 1).map { String($0).trimmed }
        guard let name = parts.first, name.utf8.count > 1 else { return [] }
        var (low, high) = (0, words.count)
        while low < high {
            let middle = (low + high) / 2
            if words[middle].text.utf8.lexicographicallyPrecedes(name.utf8) { low = middle + 1 } else { high = middle }
        }
        let found = words[low...].prefix { $0.text.utf8.starts(with: name.utf8) }
        let whole = Set(found.prefix { $0.text == name }.map(\.city))
        let others = Set(found.map(\.city)).subtracting(whole)
        let inCountry = (whole.sorted() + others.sorted()).lazy.map { cities[$0] }.filter {
            parts.count == 1 || $0.country.withoutMarks.utf8.starts(with: parts[1].utf8)
        }
        return Array(inCountry.prefix(Self.answersMax))
    }

    /// The largest cities in a view.
    func within(_ frame: MapFrame, limit: Int) -> [City] {
        let (north, south) = (frame.latitude(y: 0), frame.latitude(y: MapFrame.height))
        let reach = MapFrame.width / 2 / frame.side * 360
        return Array(
            cities.lazy.filter { city in
                let point = city.point
                return point.latitude < north && point.latitude > south
                    && MapFrame.turned(point.longitude - frame.longitude).magnitude < reach
            }.prefix(limit))
    }

    /// The nearest city, and its distance in metres.
    func nearest(to point: MapPoint) -> (city: City, metres: Double)? {
        cities.lazy.map { ($0, MapFrame.metres(point.pair, $0.point.pair)) }.min { $0.1 < $1.1 }
    }
}
