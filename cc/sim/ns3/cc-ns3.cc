// SPDX-License-Identifier: BSD-2-Clause
//
// Packet-level experiments in ns-3 with the controllers of cc/.
//
//   thesis   N ingress nodes and one egress node on one CSMA channel of 10 Gb/s, 1 ns; frames of
//            64 bytes; the egress port drains 764,500 frames/s. Feedback crosses the same channel.
//
//        source -> VOQ -> token bucket -> CsmaNetDevice ==+== CsmaNetDevice -> egress queue -> port
//
//   asm      N greedy sources, each on a full-duplex link to one switch queue that drains C; frames
//            of 1500 bytes; half the round-trip time on each way of each link.
//
// A device gets a frame only when it is idle, so devices never drop (thesis 7.6.1). The egress
// samples every T by its own timer, and between if the controller asks. Each ingress ticks every T
// with a phase of its own, and then reports its backlog if the controller wants that; reports take
// the time of the way, but none of its rate. Writes one CSV line of results, and with --trace a CSV of every T.

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

// cc.h is C11; C++ has other names for these two.
#define _Alignas alignas
#define _Static_assert static_assert
extern "C" {
#include "cc/cc.h"
}

using namespace ns3;

namespace
{

constexpr uint16_t PROTOCOL_DATA = 0x0800;	// what PPP and Ethernet both carry
constexpr uint16_t PROTOCOL_FEEDBACK = 0x86DD; // told apart by the receiver, never parsed as IP
constexpr uint32_t GREEDY_UNITS = 1u << 28;    // what a source reports that never runs empty

struct Options {
	std::string experiment = "thesis", controller = "price", params, offered, trace;
	uint32_t sources = 3, seed = 1, interval_us = 1000;
	double rate_gbps = 100, rtt_us = 100, seconds = 0.5, discard = 0.4, start = -1;
	double queue_kbytes = 4000;
};

// An option has a value that it cannot have; main prints the message.
[[noreturn]] void
Refuse(const std::string &option, const std::string &value, const std::string &wanted)
{
	throw std::invalid_argument("--" + option + " " + value + ": " + wanted + " is wanted");
}

double
Number(const std::string &option, const std::string &text)
{
	char *end;
	double value = std::strtod(text.c_str(), &end);

	if (end == text.c_str() || *end || !std::isfinite(value))
		Refuse(option, text, "a number");
	return value;
}

struct Shape { // of an experiment: everything in units of the controller
	uint64_t capacity_ups, line_ups;
	uint32_t frame_units, payload_bytes;
	double queue_limit_units;
	uint32_t voq_limit_frames; // 0: the source is greedy
};

// One source: its traffic, its VOQ, the ingress half and the token bucket that obeys it.
class Ingress
{
  public:
	Ingress(const cc_config &cfg, const Shape &shape, uint32_t id, Ptr<UniformRandomVariable> rng)
	    : m_cfg(cfg), m_shape(shape), m_rng(rng), m_id(id)
	{
		m_cfg.port.seed ^= static_cast<uint16_t>((id + 1) * 2654435769u >> 16); // as in the bridge
		cc_ingress_init(&m_cc, &m_cfg, 1);
	}

	void Attach(Ptr<NetDevice> device, Address egress)
	{
		m_device = device;
		m_egress = egress;
		m_device->SetReceiveCallback(MakeCallback(&Ingress::Receive, this));
		m_device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Ingress::Sent, this));
		m_device->TraceConnectWithoutContext("PhyTxDrop", MakeCallback(&Ingress::Sent, this));
	}

	void Start(double offered_fps, double start_ups)
	{
		if (start_ups >= 0)
			m_cc.rate_q16 = static_cast<uint64_t>(start_ups * 65536);
		m_refilled = Simulator::Now();
		if (m_shape.voq_limit_frames) {
			m_offered_fps = offered_fps;
			if (offered_fps > 0)
				Simulator::Schedule(Seconds(m_rng->GetValue() / offered_fps),
						    &Ingress::Arrive, this);
		}
		Simulator::Schedule(NanoSeconds(m_rng->GetValue() * m_cfg.port.interval_ns),
				    &Ingress::Tick, this);
		if (!m_shape.voq_limit_frames)
			Simulator::Schedule(NanoSeconds(m_rng->GetValue() * 1000), &Ingress::Send, this);
	}

	double RateUps() const
	{
		return m_cc.rate_q16 / 65536.0;
	}

	uint64_t m_dropped = 0; // frames, at the VOQ
	std::function<void(uint32_t)> m_report; // tells the egress what waits; may be empty

  private:
	uint32_t WaitingUnits() const
	{
		return m_shape.voq_limit_frames ? m_waiting * m_shape.frame_units : GREEDY_UNITS;
	}

	bool Waiting() const
	{
		return !m_shape.voq_limit_frames || m_waiting > 0;
	}

	void Arrive()
	{
		if (m_waiting == 0)
			m_ran_empty = true;
		if (m_waiting < m_shape.voq_limit_frames)
			m_waiting++;
		else
			m_dropped++;
		Simulator::Schedule(Seconds((0.95 + 0.1 * m_rng->GetValue()) / m_offered_fps),
				    &Ingress::Arrive, this);
		Send();
	}

	void Refill()
	{
		double elapsed = (Simulator::Now() - m_refilled).GetSeconds();

		m_refilled = Simulator::Now();
		m_tokens = std::min(m_tokens + elapsed * RateUps(),
				    static_cast<double>(std::max(m_cc.burst_units, m_shape.frame_units)));
	}

	void Send()
	{
		if (m_busy || !Waiting())
			return;
		Refill();
		if (m_tokens < m_cost) {
			double wait_s = (m_cost - m_tokens) / RateUps();

			if (m_wake.IsRunning())
				m_wake.Cancel();
			// A rate that rises is seen at the next tick at the latest.
			m_wake = Simulator::Schedule(Seconds(std::min(wait_s, 1e-2)) + NanoSeconds(1),
						     &Ingress::Send, this);
			return;
		}
		m_tokens -= m_cost;
		m_cost = m_shape.frame_units * (0.95 + 0.1 * m_rng->GetValue()); // pacing jitter
		if (m_shape.voq_limit_frames && --m_waiting == 0)
			m_ran_empty = true;
		m_sent_units += m_shape.frame_units;
		cc_ingress_sent(&m_cc, &m_cfg, m_shape.frame_units);
		m_busy = true;
		m_device->Send(Create<Packet>(m_shape.payload_bytes), m_egress, PROTOCOL_DATA);
	}

	void Sent(Ptr<const Packet>)
	{
		m_busy = false;
		Simulator::ScheduleNow(&Ingress::Send, this);
	}

	bool Receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address &)
	{
		cc_feedback record;

		if (protocol != PROTOCOL_FEEDBACK)
			return true;
		packet->CopyData(reinterpret_cast<uint8_t *>(&record), sizeof(record));
		cc_ingress_feedback(&m_cc, &m_cfg, &record);
		Refill();
		Send();
		return true;
	}

	void Tick()
	{
		cc_usage usage = {};

		usage.elapsed_ns = m_cfg.port.interval_ns;
		usage.sent_units = m_sent_units;
		usage.backlogged = !m_ran_empty;
		Refill();
		cc_ingress_tick(&m_cc, &m_cfg, &usage);
		m_sent_units = 0;
		if (m_report)
			m_report(WaitingUnits());
		m_ran_empty = m_shape.voq_limit_frames && m_waiting == 0;
		Send();
		Simulator::Schedule(NanoSeconds(m_cfg.port.interval_ns), &Ingress::Tick, this);
	}

	cc_config m_cfg;
	const Shape &m_shape;
	Ptr<UniformRandomVariable> m_rng;
	Ptr<NetDevice> m_device;
	Address m_egress;
	cc_ingress m_cc;
	EventId m_wake;
	Time m_refilled;
	double m_tokens = 0, m_cost = 1, m_offered_fps = 0;
	uint32_t m_id, m_waiting = 0, m_sent_units = 0;
	bool m_busy = false, m_ran_empty = false;
};

// The egress queue, its port, and the egress half.
class Egress
{
  public:
	Egress(const cc_config &cfg, const Shape &shape, uint32_t sources)
	    : m_total_units(sources, 0), m_cfg(cfg), m_shape(shape), m_sources(sources)
	{
		cc_egress_init(&m_cc, &m_cfg);
		for (uint32_t i = 0; i < sources; i++)
			m_sources[i] = {static_cast<uint16_t>(i), 1, 0, 0};
		m_devices.resize(sources);
		m_addresses.resize(sources);
	}

	// Feedback to source i goes out of device to address; frames from address are its frames.
	void Attach(uint32_t i, Ptr<NetDevice> device, Address address)
	{
		m_devices[i] = device;
		m_addresses[i] = address;
		m_by_address[address] = i;
		device->SetReceiveCallback(MakeCallback(&Egress::Receive, this));
	}

	// What waits at source i for this queue, as its report says that has just come.
	void Report(uint32_t i, uint32_t units)
	{
		m_sources[i].waiting_units = units;
	}

	void Start(Time discard)
	{
		m_since = m_sampled = Simulator::Now();
		Simulator::Schedule(NanoSeconds(m_cfg.port.interval_ns), &Egress::Timer, this);
		Simulator::Schedule(discard, &Egress::Forget, this);
	}

	// Time-weighted figures since Forget().
	struct Result {
		double mean, sd, max, empty, utilisation, drop_share, seconds;
	};

	Result Results()
	{
		Result r = {};

		Weigh();
		r.seconds = (Simulator::Now() - m_forgot).GetSeconds();
		r.mean = m_q1 / r.seconds;
		r.sd = std::sqrt(std::max(0.0, m_q2 / r.seconds - r.mean * r.mean));
		r.max = m_max;
		r.empty = m_empty / r.seconds;
		r.utilisation = m_departed / (r.seconds * m_shape.capacity_ups);
		r.drop_share = m_arrived ? double(m_dropped) / m_arrived : 0;
		return r;
	}

	double m_queue = 0;			// units
	std::vector<uint64_t> m_total_units;	// accepted from each source since Forget()
	std::function<void()> m_each_interval;

  private:
	void Weigh()
	{
		double seconds = (Simulator::Now() - m_since).GetSeconds();

		m_since = Simulator::Now();
		m_q1 += m_queue * seconds;
		m_q2 += m_queue * m_queue * seconds;
		if (m_queue == 0)
			m_empty += seconds;
		m_max = std::max(m_max, m_queue);
	}

	void Forget()
	{
		Weigh();
		m_q1 = m_q2 = m_empty = m_max = 0;
		m_departed = m_dropped = m_arrived = 0;
		std::fill(m_total_units.begin(), m_total_units.end(), 0);
		m_forgot = Simulator::Now();
	}

	bool Receive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t protocol, const Address &from)
	{
		auto found = m_by_address.find(from);

		if (protocol != PROTOCOL_DATA || found == m_by_address.end())
			return true;
		Weigh();
		m_last = static_cast<uint16_t>(found->second);
		m_sources[m_last].arrived_units += m_shape.frame_units;
		m_arrived += m_shape.frame_units;
		if (m_queue + m_shape.frame_units > m_shape.queue_limit_units) {
			m_dropped += m_shape.frame_units;
			m_dropped_units += m_shape.frame_units;
		} else {
			m_total_units[m_last] += m_shape.frame_units;
			m_queue += m_shape.frame_units;
			if (!m_draining)
				Drain();
		}
		if (m_due && (m_due = m_due > m_shape.frame_units ? m_due - m_shape.frame_units : 0) == 0)
			Sample(false);
		return true;
	}

	void Drain()
	{
		m_draining = m_queue > 0;
		if (m_draining)
			Simulator::Schedule(Seconds(double(m_shape.frame_units) / m_shape.capacity_ups),
					    &Egress::Depart, this);
	}

	void Depart()
	{
		Weigh();
		m_queue -= m_shape.frame_units;
		m_departed += m_shape.frame_units;
		m_departed_units += m_shape.frame_units;
		Drain();
	}

	void Timer()
	{
		Sample(true);
		if (m_each_interval)
			m_each_interval();
		Simulator::Schedule(NanoSeconds(m_cfg.port.interval_ns), &Egress::Timer, this);
	}

	void Sample(bool timer)
	{
		cc_sample s = {};

		s.capacity_ups = m_shape.capacity_ups;
		s.elapsed_ns = static_cast<uint32_t>((Simulator::Now() - m_sampled).GetNanoSeconds());
		s.backlog_units = static_cast<uint32_t>(m_queue);
		s.change_units = static_cast<int32_t>(m_queue - m_shown);
		s.departed_units = m_departed_units;
		s.dropped_units = m_dropped_units;
		s.last_source = m_last;
		s.n_sources = static_cast<uint16_t>(m_sources.size());
		s.sources = m_sources.data();
		s.timer = timer;
		m_due = cc_egress_sample(&m_cc, &m_cfg, &s);
		for (const cc_source &source : m_sources) {
			cc_feedback record;

			if (!cc_egress_feedback(&m_cc, &m_cfg, &s, &source, &record))
				continue;
			// At least what a minimum Ethernet frame carries.
			uint8_t bytes[46] = {};

			std::memcpy(bytes, &record, sizeof(record));
			m_devices[source.id]->Send(Create<Packet>(bytes, sizeof(bytes)),
						   m_addresses[source.id], PROTOCOL_FEEDBACK);
		}
		for (cc_source &source : m_sources)
			source.arrived_units = 0;
		m_shown = m_queue;
		m_sampled = Simulator::Now();
		m_departed_units = m_dropped_units = 0;
		m_last = CC_NO_SOURCE;
	}

	const cc_config &m_cfg;
	const Shape &m_shape;
	cc_egress m_cc;
	std::vector<cc_source> m_sources;
	std::vector<Ptr<NetDevice>> m_devices;
	std::vector<Address> m_addresses;
	std::map<Address, uint32_t> m_by_address;
	Time m_since, m_sampled, m_forgot;
	double m_q1 = 0, m_q2 = 0, m_empty = 0, m_max = 0, m_shown = 0;
	uint64_t m_departed = 0, m_dropped = 0, m_arrived = 0;
	uint32_t m_departed_units = 0, m_dropped_units = 0, m_due = 0;
	uint16_t m_last = CC_NO_SOURCE;
	bool m_draining = false;
};

Shape
ShapeOf(const Options &o)
{
	if (o.experiment == "thesis") // 46 bytes and Ethernet's 18: frames of 64
		return {764500, 19531250, 1, 46, 4000, 2000};
	uint64_t rate_Bps = static_cast<uint64_t>(o.rate_gbps * 1e9 / 8);

	return {rate_Bps, rate_Bps, 1500, 1498, o.queue_kbytes * 1000, 0}; // PPP adds 2
}

void
Configure(cc_config *cfg, const Options &o, const Shape &shape)
{
	cc_port port = {};
	const char *why = nullptr;
	std::stringstream params(o.params);
	std::string item;

	port.capacity_ups = shape.capacity_ups;
	port.line_ups = shape.line_ups;
	port.interval_ns = o.interval_us * 1000;
	port.frame_bytes = o.experiment == "thesis" ? 64 : 1500;
	port.units = o.experiment == "thesis" ? CC_PACKETS : CC_BYTES;
	port.sources = static_cast<uint16_t>(o.sources);
	port.seed = static_cast<uint16_t>(o.seed);
	if (cc_config_init(cfg, o.controller.c_str(), &port))
		Refuse("controller", o.controller, "a controller of cc-sim --list, and options that it can work with,");
	while (std::getline(params, item, ',')) {
		size_t eq = item.find('=');

		if (eq == std::string::npos ||
		    cc_config_set(cfg, item.substr(0, eq).c_str(),
				  std::llround(Number("params", item.substr(eq + 1)))))
			Refuse("params", item, "NAME=VALUE in the range that cc-sim --list shows");
	}
	if (cc_config_prepare(cfg, &why))
		throw std::invalid_argument("--params " + o.params + ": " +
					    (why ? why : "these do not go together"));
}

// Offered load of each source, frames/s: the list given, its last entry for the rest.
std::vector<double>
Offered(const Options &o)
{
	std::vector<double> fps;
	std::stringstream list(o.offered.empty() ? "1000000" : o.offered);
	std::string item;

	while (std::getline(list, item, ','))
		fps.push_back(Number("offered", item));
	fps.resize(o.sources, fps.back());
	return fps;
}

void
Wire(const Options &o, const Shape &shape, std::vector<Ingress> &in, Egress &egress)
{
	if (o.experiment == "thesis") {
		NodeContainer nodes(o.sources + 1);
		CsmaHelper csma;

		csma.SetChannelAttribute("DataRate", StringValue("10Gbps"));
		csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(1)));
		NetDeviceContainer devices = csma.Install(nodes);
		Ptr<NetDevice> out = devices.Get(o.sources);

		for (uint32_t i = 0; i < o.sources; i++) {
			in[i].Attach(devices.Get(i), out->GetAddress());
			egress.Attach(i, out, devices.Get(i)->GetAddress());
		}
		return;
	}
	NodeContainer nodes(o.sources + 1);
	PointToPointHelper link;

	link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(shape.line_ups * 8)));
	link.SetDeviceAttribute("InterframeGap", TimeValue(Seconds(0)));
	link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(o.rtt_us * 500)));
	for (uint32_t i = 0; i < o.sources; i++) {
		NetDeviceContainer ends = link.Install(nodes.Get(i), nodes.Get(o.sources));

		in[i].Attach(ends.Get(0), ends.Get(1)->GetAddress());
		egress.Attach(i, ends.Get(1), ends.Get(0)->GetAddress());
	}
}

} // namespace

static int
Run(int argc, char **argv)
{
	Options o;
	CommandLine cmd(__FILE__);

	cmd.AddValue("experiment", "thesis or asm", o.experiment);
	cmd.AddValue("controller", "name of a controller, see cc-sim --list", o.controller);
	cmd.AddValue("params", "NAME=VALUE,...: parameters of the controller", o.params);
	cmd.AddValue("sources", "number of sources", o.sources);
	cmd.AddValue("offered", "thesis: frames/s of each source, comma-separated", o.offered);
	cmd.AddValue("rate", "asm: capacity, Gb/s", o.rate_gbps);
	cmd.AddValue("rtt", "asm: round-trip time, us", o.rtt_us);
	cmd.AddValue("buffer", "asm: egress queue, kB", o.queue_kbytes);
	cmd.AddValue("interval", "control interval T, us", o.interval_us);
	cmd.AddValue("seconds", "simulated time", o.seconds);
	cmd.AddValue("discard", "share of it that the results leave out", o.discard);
	cmd.AddValue("start", "first rate of each source, share of C / N; negative: the controller's",
		     o.start);
	cmd.AddValue("seed", "random seed", o.seed);
	cmd.AddValue("trace", "CSV file with a row per interval", o.trace);
	cmd.Parse(argc, argv);
	if (o.experiment != "thesis" && o.experiment != "asm")
		Refuse("experiment", o.experiment, "thesis or asm");
	if (o.sources < 1 || o.sources > CC_SOURCES_MAX)
		Refuse("sources", std::to_string(o.sources), "1.." + std::to_string(CC_SOURCES_MAX));
	if (!(o.seconds > 0 && o.discard >= 0 && o.discard < 1))
		Refuse("seconds, --discard", std::to_string(o.seconds) + ", " + std::to_string(o.discard),
		       "a time, and a share of it below 1,");

	RngSeedManager::SetSeed(o.seed);
	const Shape shape = ShapeOf(o);
	cc_config cfg;
	Configure(&cfg, o, shape);

	Ptr<UniformRandomVariable> rng = CreateObject<UniformRandomVariable>();
	std::vector<Ingress> in;
	in.reserve(o.sources);
	for (uint32_t i = 0; i < o.sources; i++)
		in.emplace_back(cfg, shape, i, rng);
	Egress egress(cfg, shape, o.sources);
	Wire(o, shape, in, egress);
	const Time way = o.experiment == "thesis" ? NanoSeconds(1) : NanoSeconds(o.rtt_us * 500);
	for (uint32_t i = 0; i < o.sources && cfg.ops->needs_reports; i++)
		in[i].m_report = [&egress, i, way](uint32_t units) {
			Simulator::Schedule(way, &Egress::Report, &egress, i, units);
		};

	const std::vector<double> offered = Offered(o);
	for (uint32_t i = 0; i < o.sources; i++)
		in[i].Start(offered[i],
			    o.start < 0 ? -1 :
					  std::min(o.start * shape.capacity_ups / o.sources,
						   double(shape.line_ups)));
	egress.Start(Seconds(o.seconds * o.discard));

	FILE *trace = nullptr;
	if (!o.trace.empty()) {
		trace = std::fopen(o.trace.c_str(), "w");
		if (!trace)
			Refuse("trace", o.trace, std::string("a file that can be written (") +
							 std::strerror(errno) + ")");
		std::fprintf(trace, "# scenario ns3-%s controller %s seed %u\n", o.experiment.c_str(),
			     o.controller.c_str(), o.seed);
		std::fprintf(trace, "time_s,queue_units");
		for (uint32_t i = 0; i < o.sources; i++)
			std::fprintf(trace, ",limit_%u", i);
		std::fprintf(trace, "\n");
		egress.m_each_interval = [&] {
			std::fprintf(trace, "%.9g,%.9g", Simulator::Now().GetSeconds(), egress.m_queue);
			for (const Ingress &i : in)
				std::fprintf(trace, ",%.9g", i.RateUps());
			std::fprintf(trace, "\n");
		};
	}
	Simulator::Stop(Seconds(o.seconds));
	Simulator::Run();

	Egress::Result r = egress.Results();
	double sum = 0, squares = 0;
	std::printf("%s,%s,%g,%g,%u,%g,%u,", o.experiment.c_str(), o.controller.c_str(), o.rate_gbps,
		    o.rtt_us, o.sources, o.start, o.seed);
	std::printf("%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", r.mean, r.sd, r.max, r.empty, r.utilisation,
		    r.drop_share);
	for (uint64_t units : egress.m_total_units) {
		double rate = units / r.seconds;

		sum += rate;
		squares += rate * rate;
	}
	std::printf(",%.6f", squares > 0 ? sum * sum / (o.sources * squares) : 1);
	for (uint64_t units : egress.m_total_units)
		std::printf(",%.6g", units / r.seconds);
	std::printf("\n");
	if (trace && std::fclose(trace) != 0)
		Refuse("trace", o.trace, "room for all of the file");
	Simulator::Destroy();
	return 0;
}

int
main(int argc, char **argv)
{
	try {
		return Run(argc, argv);
	} catch (const std::invalid_argument &refused) {
		std::fprintf(stderr, "cc-ns3: %s\n", refused.what());
		return 2;
	}
}
