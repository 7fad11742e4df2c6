/// A point on the map, as people write or paste it.
struct MapPoint: Sendable, Hashable {
    let latitude: Double
    let longitude: Double

    /// Reads `48.8584, 2.2945`, degrees with minutes and seconds such as `52°31′12″N 13°24′18″E`, and whole Plus Codes. nil for any other
    /// text.
    init?(_ text: String) {
        let parts = text.split { $0 == "," || $0 == ";" || $0.isWhitespace }
        if parts.count == 2, let latitude = Double(parts[0]), let longitude = Double(parts[1]) {
            self.init(checked: latitude, longitude)
        } else if let code = PlusCode(text.trimmed), let point = code.point {
            self = point
        } else {
            self.init(angles: text)
        }
    }

    init(_ latitude: Double, _ longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    private init?(checked latitude: Double, _ longitude: Double) {
        guard -90...90 ~= latitude, -180...180 ~= longitude else { return nil }
        self.init(latitude, longitude)
    }

    /// Degrees, minutes and seconds, with a direction after each angle or before it.
    private init?(angles text: String) {
        guard text.utf8.count <= 100 else { return nil }
        let marks = "°º˚'′’\"″”,;"
        let spaced = text.uppercased().map { "NSEW".contains($0) ? " \($0) " : marks.contains($0) ? " " : String($0) }
        let words = spaced.joined().split(separator: " ")
        let places = words.indices.filter { "NSEW".contains(words[$0]) }
        guard places.count == 2, places[0] == 0 || places[1] == words.count - 1 else { return nil }
        let angles =
            places[0] == 0
            ? [words[1..<places[1]], words[(places[1] + 1)...]]
            : [words[..<places[0]], words[(places[0] + 1)..<places[1]]]
        let directions = places.map { words[$0] }
        guard directions[0] != directions[1], let first = Self.degrees(angles[0]),
            let second = Self.degrees(angles[1])
        else { return nil }
        let values = [directions[0]: first, directions[1]: second]
        func value(_ positive: Substring, _ negative: Substring) -> Double? {
            values[positive] ?? values[negative].map { -$0 }
        }
        guard let latitude = value("N", "S"), let longitude = value("E", "W") else { return nil }
        self.init(checked: latitude, longitude)
    }

    private static func degrees(_ words: ArraySlice<Substring>) -> Double? {
        let numbers = words.compactMap(Double.init)
        guard 1...3 ~= words.count, numbers.count == words.count, numbers.allSatisfy({ $0 >= 0 }),
            numbers.dropFirst().allSatisfy({ $0 < 60 })
        else { return nil }
        return zip(numbers, [1, 60, 3_600]).reduce(0) { $0 + $1.0 / $1.1 }
    }

    var pair: (latitude: Double, longitude: Double) { (latitude, longitude) }
    var text: String { "\(latitude.plain), \(longitude.plain)" }

    /// The distance from the middle of a place, in metres.
    func distance(to place: Place) -> Double { MapFrame.metres(pair, (place.latitude, place.longitude)) }
}

/// A code for an area of some metres. Source: Open Location Code Specification 1.0, "Encoding" and "Recovering full codes".
struct PlusCode: Sendable {
    /// The digits without the plus sign and zeros that fill the code up.
    private let digits: [Int]
    /// How many digits at the start of the whole code this one leaves out.
    private let missing: Int

    private static let alphabet = Array("23456789CFGHJMPQRVWX")
    /// The degrees of each of the five pairs.
    private static let steps = [20, 1, 0.05, 0.0025, 0.000125]

    /// nil for a text that is no code, whole or short.
    init?(_ text: String) {
        let parts = text.uppercased().split(separator: "+", omittingEmptySubsequences: false)
        guard text.utf8.count <= 16, parts.count == 2, [2, 4, 6, 8].contains(parts[0].count), parts[1].count != 1 else {
            return nil
        }
        let isFilled = parts[0].hasSuffix("0")
        let front = Array(parts[0].reversed().drop { $0 == "0" }).reversed()
        let found = (front + parts[1]).map { Self.alphabet.firstIndex(of: $0) }
        digits = found.compactMap(\.self)
        missing = 8 - parts[0].count
        guard digits.count == found.count, digits.count >= 2, front.count.isMultiple(of: 2),
            !isFilled || parts[1].isEmpty && missing == 0
        else { return nil }
    }

    private init(_ digits: [Int]) { (self.digits, missing) = (digits, 0) }

    /// The middle of its area; nil for a short code.
    var point: MapPoint? { missing == 0 ? middle : nil }

    private var middle: MapPoint? {
        var (latitude, longitude) = (-90.0, -180.0)
        var (high, wide) = (20.0, 20.0)
        for (index, step) in Self.steps.enumerated() where 2 * index + 1 < digits.count {
            (high, wide) = (step, step)
            latitude += Double(digits[2 * index]) * step
            longitude += Double(digits[2 * index + 1]) * step
        }
        // Digits after the pairs divide the area into five rows of four.
        for digit in digits.dropFirst(10) {
            (high, wide) = (high / 5, wide / 4)
            latitude += Double(digit / 4) * high
            longitude += Double(digit % 4) * wide
        }
        guard latitude < 90, longitude < 180 else { return nil }
        return MapPoint(latitude + high / 2, longitude + wide / 2)
    }

    /// The middle of the area that a short code means near a point: the nearest of those with its digits.
    func point(near other: MapPoint) -> MapPoint? {
        guard missing > 0 else { return point }
        let east = MapFrame.turned(other.longitude)
        var (down, right) = (min(other.latitude + 90, 179.999_999), east + 180)
        var front: [Int] = []
        for step in Self.steps.prefix(missing / 2) {
            front += [Int(down / step), Int(right / step)]
            (down, right) = (down - (down / step).rounded(.down) * step, right - (right / step).rounded(.down) * step)
        }
        guard let found = PlusCode(front + digits).middle else { return nil }
        let step = Self.steps[missing / 2 - 1]
        func nearest(_ value: Double, _ wanted: Double) -> Double {
            value - wanted > step / 2 ? value - step : wanted - value > step / 2 ? value + step : value
        }
        let latitude = nearest(found.latitude, other.latitude)
        return MapPoint(
            -90...90 ~= latitude ? latitude : found.latitude,
            MapFrame.turned(nearest(found.longitude, east)))
    }
}
