import Foundation

/// A device whose values are drawn from its number.
struct ValuedDevice: Sendable {
    let number: Int
    private let draws: [Int]

    private static let countries = ["DE", "DE", "DE", "AT", "CH", "US", "US", "US", "GB", "FR"]
    private static let german = ["de", "de", "de-DE", "de-DE", "en"]
    private static let others = ["en", "en-US", "fr", "es", "it", "pl", "tr", "nl", "pt-BR", "de"]
    private static let timeZones = ["Europe/Berlin", "Europe/Vienna", "Europe/London", "America/New_York"]
    private static let plans = ["free", "free", "pro", "team"]

    init(_ number: Int) {
        self.number = number
        var state = UInt64(number) &* 11 &+ 3
        draws = (0..<3).flatMap { _ in
            let word = Devices.splitMix(&state)
            return [Int(word & 0xFFFF), Int(word >> 16 & 0xFFFF), Int(word >> 32 & 0xFFFF)]
        }
    }

    private var country: String { Self.countries[draws[0] % 10] }
    private var language: String { country == "DE" ? Self.german[draws[1] % 5] : Self.others[draws[1] % 10] }
    private var version: (Int, Int) { (4 + draws[2] % 3, draws[3] % 10) }
    private var isInNews: Bool { draws[4] % 3 == 0 }
    private var isInSports: Bool { draws[5] % 4 == 0 }

    /// Whether the terms hold that it is to fulfil, without the platform's.
    private var terms: [Bool] { [country == "DE", version.0 >= 5, isInNews, language.hasPrefix("de")] }

    /// The topics of the expression that it has.
    var namedTopics: [String] { (isInNews ? ["news"] : []) + (isInSports ? ["sports"] : []) }

    /// Its values, as members of a JSON object.
    var values: String {
        """
        "language":"\(language)","country":"\(country)","app_version":"\(version.0).\(version.1)",\
        "time_zone":"\(Self.timeZones[draws[7] % 4])","attributes":{"plan":"\(Self.plans[draws[8] % 4])"}
        """
    }

    /// A line of an import.
    var line: Data {
        let topics = ["topic-\(draws[6] % 1_000)"] + namedTopics
        return Data(
            """
            {"registration_token":"\(Devices.hex(number))","os":"ios","os_version":"17.5",\(values),\
            "tags":["\(topics.joined(separator: #"",""#))"]}

            """.utf8)
    }
}

extension ValuedDevice {
    /// An expression of six terms.
    static let expression = "platform:ios country:DE version>=5 topic:news -topic:sports lang:de"

    /// The devices that the expression means, and the entries of the lists that it reads: the platform's has every device, and is not read.
    struct Expected: Sendable {
        private(set) var devices = 0
        private(set) var postings = 0

        /// Counts among devices from 0 on.
        init(among count: Int) { for number in 0..<count { add(ValuedDevice(number)) } }

        private mutating func add(_ device: ValuedDevice) {
            let terms = device.terms
            postings += terms.count { $0 } + (device.isInSports ? 1 : 0)
            if terms.allSatisfy({ $0 }), !device.isInSports { devices += 1 }
        }
    }
}
