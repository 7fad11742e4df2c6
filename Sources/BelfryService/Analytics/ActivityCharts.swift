/// Charts of the devices of platforms and of their answers over a period.
extension PeriodCounts {
    /// - Parameters:
    ///   - active: the active devices now; nil where they were not counted.
    ///   - registered: all devices now, inactive ones too.
    @ListBuilder<Section> func activitySections(active: Int?, registered: Int) -> [Section] {
        Section(
            "Devices",
            text:
                "Devices join when they register for the first time, or again. They opt out when the app or the browser unregisters them, "
                + "and are lost when the provider or somebody else gives them up."
        ) {
            devices(active: active, registered: registered)
            changes
        }
        if activity.accepted + activity[.failed] > 0 {
            Section("Delivery rate", text: "Devices whose message was accepted, of all that got their final answer.") {
                rate
            }
        }
        if activity.accepted > 0 {
            Section("Time to the provider", text: "From acceptance of a push to the provider's, waits included.") {
                Facts {
                    for (name, share) in Self.shares { Fact(name, .text(Self.words(activity.time(ofShare: share)))) }
                }
                times
            }
        }
    }

    private static let shares = [("half within", 0.5), ("99 % within", 0.99)]

    private static func words(_ time: Duration?) -> String {
        time.map { Chart.Unit.milliseconds.text(Int($0.milliseconds)) } ?? "—"
    }

    /// The devices at the end of each hour or day, back from those that there are now.
    private func devices(active: Int?, registered: Int) -> Chart {
        let ends = ends(active ?? registered) { activity in
            activity[.joined] - (active == nil ? 0 : activity.devicesLost)
        }
        return Chart(
            "Devices, \(period.rawValue)", series: [active == nil ? "devices, inactive included" : "active devices"],
            numbers.map { Chart.Column(name($0), [ends[$0]], previous: ends[$0 - period.columns]) }, drawsLines: true)
    }

    /// - Parameter net: the devices that came in an hour or day, without those that went.
    func ends(_ now: Int, _ net: (PlatformActivity) -> Int64) -> [Int64: Int] {
        var ends: [Int64: Int] = [:]
        var devices = now
        for number in (numbers.lowerBound - period.columns...numbers.upperBound).reversed() {
            ends[number] = max(0, devices)
            devices -= Int(net(activity(number)))
        }
        return ends
    }

    private var changes: Chart {
        Chart(
            "Joined and lost, \(period.rawValue)", series: ["joined", "opted out", "lost"],
            numbers.map { number in
                let own = activity(number)
                return Chart.Column(
                    name(number), [own[.joined], own[.optedOut], own[.gone] + own[.lost]].map(Int.init),
                    previous: Int(activity(number - period.columns)[.joined]))
            })
    }

    private var rate: Chart {
        func rate(_ number: Int64) -> Int? {
            let own = activity(number)
            let all = own.accepted + own[.failed]
            return all > 0 ? Int(own.accepted * 1_000 / all) : nil
        }
        return Chart(
            "Delivery rate, \(period.rawValue)", series: ["accepted"],
            numbers.map { Chart.Column(name($0), [rate($0)], previous: rate($0 - period.columns)) }, unit: .perMille)
    }

    private var times: Chart {
        func time(_ number: Int64, _ share: Double) -> Int? {
            activity(number).time(ofShare: share).map { Int($0.milliseconds) }
        }
        return Chart(
            "Time to the provider, \(period.rawValue)", series: Self.shares.map(\.0),
            numbers.map { number in
                Chart.Column(
                    name(number), Self.shares.map { time(number, $0.1) }, previous: time(number - period.columns, 0.5))
            }, unit: .milliseconds, drawsLines: true)
    }

    static let activityColumns =
        PlatformActivity.Figure.allCases.map(\.word) + ["half within ms", "99 % within ms"]

    /// In the order of `activityColumns`.
    func activityCells(_ number: Int64) -> [String] {
        let own = activity(number)
        return PlatformActivity.Figure.allCases.map { String(own[$0]) }
            + Self.shares.map { own.time(ofShare: $0.1).map { String($0.milliseconds) } ?? "" }
    }
}

extension PlatformActivity.Figure {
    fileprivate var word: String {
        switch self {
        case .joined: "joined"
        case .optedOut: "opted out"
        case .gone: "gone"
        case .lost: "lost otherwise"
        case .failed: "not delivered"
        }
    }
}
