// SPDX-License-Identifier: BSD-2-Clause
//
// The flow queues in ns-3: TCP sources that share one link, whose queue is a port of queues/fq.h.
//
//   source 0 ---10 Mb/s---+
//   source 1 ---10 Mb/s---+-- router ==[ the port ]== 500 Mb/s == sink
//   ...                   |
//
// The port sees the bytes of each packet and hashes them as it would in a router. Sources send as
// much as TCP lets them, from nearly the same moment on. Results are goodputs: bytes that the sink's
// applications got, each once, over the whole time. The fair share is what the link can carry of
// them, over the number of sources.
//
// --policy=ns3:TYPE puts a queue of ns-3's own in the port's place, as an oracle for it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

// fq.h is C11.
#define _Alignas alignas
#define _Static_assert static_assert
extern "C" {
#include "queues/flow.h"
#include "queues/fq.h"
}

using namespace ns3;

namespace
{

constexpr uint32_t SEGMENT_BYTES = 1460; // with 40 bytes of headers: M = 1500
constexpr uint32_t PPP_BYTES = 2;
constexpr uint32_t FRAME_BYTES = SEGMENT_BYTES + 40 + PPP_BYTES;
constexpr uint32_t MAC_BYTES = 14;   // what flow.h expects before the IP header
constexpr uint32_t HEADER_BYTES = 64; // enough to know the flow by
constexpr uint16_t TCP_PORT = 5000;

struct Options {
	std::string policy = "qsdrr", params, tcp = "TcpNewReno";
	uint32_t sources = 100, buffer = 1000, queues = 0, seed = 1, delayed_acks = 1;
	double rate_mbps = 500, access_mbps = 10, rtt_ms = 100, seconds = 100, jitter_ms = 10;
	bool ecn = false, sack = true;
};

[[noreturn]] void
Refuse(const std::string &option, const std::string &value, const std::string &wanted)
{
	throw std::invalid_argument("--" + option + " " + value + ": " + wanted + " is wanted");
}

// How long packets waited in the port, and what became of them.
struct Counters {
	uint64_t sent = 0, marked = 0, dropped[FQ_N_REASONS] = {};
	double delay_sum_s = 0, delay_max_s = 0;
	uint64_t early_by_ns3 = 0;
};

// The port, as the queue of a point-to-point device. The device asks for a packet when its link is
// free; all others wait here.
class PortQueue : public Queue<Packet>
{
  public:
	static TypeId GetTypeId()
	{
		static TypeId id = TypeId("sluice::PortQueue").SetParent<Queue<Packet>>();
		return id;
	}

	// by_source: a queue for each source, as if a rule had reserved it; else by the flow's hash.
	void Open(const fq_config &config, bool by_source, uint32_t seed)
	{
		m_by_source = by_source;
		m_key = {seed, 0x5eed};
		m_memory.resize(fq_port_size(&config) / sizeof(uint64_t));
		m_waiting.resize(config.shape.limit_frames + 1);
		for (uint32_t i = 0; i < m_waiting.size(); i++)
			m_free.push_back(i);
		m_port = fq_port_init(m_memory.data(), &config, &PortQueue::Dropped, this);
	}

	bool Enqueue(Ptr<Packet> packet) override
	{
		uint8_t bytes[MAC_BYTES + HEADER_BYTES] = {};
		uint8_t *const l2 = bytes + MAC_BYTES - PPP_BYTES;
		const uint32_t n = packet->CopyData(l2, PPP_BYTES + HEADER_BYTES);
		fq_flow flow;
		fq_frame frame = {};

		bytes[MAC_BYTES - 2] = 0x08; // an EtherType where PPP has its protocol
		bytes[MAC_BYTES - 1] = 0x00;
		fq_flow_parse(bytes, MAC_BYTES - PPP_BYTES + n, &flow);
		frame.handle = m_free.back();
		frame.len_bytes = packet->GetSize();
		frame.ect = fq_flow_is_ect(&flow);
		m_waiting[m_free.back()] = packet;
		m_free.pop_back();
		// The second byte of a source's address, 10.0.x.y, counts sources: see Wire().
		const uint32_t source = bytes[MAC_BYTES + 13] * 256u * 256 + bytes[MAC_BYTES + 14] * 256u +
					bytes[MAC_BYTES + 15];
		fq_enqueue(m_port,
			   m_by_source ? (source / 4) % m_port->config.shape.queues :
					 fq_queue_of(m_port, fq_flow_hash(&flow, &m_key)),
			   &frame, Now());
		return m_port->n_frames > 0;
	}

	Ptr<Packet> Dequeue() override
	{
		fq_frame frame;

		if (fq_dequeue(m_port, Now(), &frame) == FQ_NONE)
			return nullptr;
		Ptr<Packet> packet = Release(frame.handle);
		const double delay_s = (Now() - frame.arrival_ns) * 1e-9;

		m_counters.sent++;
		m_counters.delay_sum_s += delay_s;
		m_counters.delay_max_s = std::max(m_counters.delay_max_s, delay_s);
		if (frame.ce)
			Mark(packet);
		return packet;
	}

	Ptr<Packet> Remove() override
	{
		return nullptr; // only Flush() asks, which nobody calls
	}

	Ptr<const Packet> Peek() const override
	{
		return nullptr;
	}

	Counters m_counters;

  private:
	static uint64_t Now()
	{
		return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());
	}

	Ptr<Packet> Release(uint64_t handle)
	{
		Ptr<Packet> packet = m_waiting[handle];

		m_waiting[handle] = nullptr;
		m_free.push_back(static_cast<uint32_t>(handle));
		return packet;
	}

	static void Dropped(void *context, const fq_frame *frame, uint32_t, fq_reason reason)
	{
		auto *self = static_cast<PortQueue *>(context);

		self->m_counters.dropped[reason]++;
		self->Release(frame->handle);
	}

	void Mark(Ptr<Packet> packet)
	{
		PppHeader ppp;
		Ipv4Header ip;

		packet->RemoveHeader(ppp);
		packet->RemoveHeader(ip);
		ip.SetEcn(Ipv4Header::ECN_CE);
		packet->AddHeader(ip);
		packet->AddHeader(ppp);
		m_counters.marked++;
	}

	fq_port *m_port = nullptr;
	fq_hash_key m_key = {};
	bool m_by_source = false;
	std::vector<uint64_t> m_memory;
	std::vector<Ptr<Packet>> m_waiting; // by handle
	std::vector<uint32_t> m_free;	    // handles
};

NS_OBJECT_ENSURE_REGISTERED(PortQueue);

void
Configure(fq_config *cfg, const Options &o)
{
	fq_shape shape = {};
	const char *why = nullptr;
	std::stringstream params(o.params);
	std::string item;

	shape.queues = o.queues ? o.queues : o.sources;
	shape.limit_frames = o.buffer;
	shape.limit_bytes = o.buffer * FRAME_BYTES;
	shape.frame_max_bytes = FRAME_BYTES;
	shape.seed = o.seed;
	shape.rate_Bps = static_cast<uint64_t>(o.rate_mbps * 1e6 / 8);
	if (fq_config_init(cfg, o.policy.c_str(), &shape)) {
		std::string names;

		for (const fq_ops *const *ops = fq_policies; *ops; ops++)
			names += std::string((*ops)->name) + ", ";
		Refuse("policy", o.policy, names + "or ns3:TYPE, and a shape within the limits of fq.h,");
	}
	while (std::getline(params, item, ',')) {
		const size_t eq = item.find('=');
		char *end = nullptr;
		const std::string value = eq == std::string::npos ? "" : item.substr(eq + 1);
		const long long number = std::strtoll(value.c_str(), &end, 10);

		if (value.empty() || *end ||
		    fq_config_set(cfg, item.substr(0, eq).c_str(), number))
			Refuse("params", item, "NAME=VALUE of the policy, within its range,");
	}
	if (fq_config_prepare(cfg, &why))
		throw std::invalid_argument("--params " + o.params + ": " +
					    (why ? why : "these do not go together"));
}

// Reno's window with selective acknowledgements, one for each segment. Windows are never what limits
// a source. Without SACK, this version's recovery sends much again that had arrived: behind tail drop
// 4.8 % of the frames were lost then, and a third of the link was idle.
void
ConfigureTcp(const Options &o)
{
	// Else the router compares each packet with the addresses of all its interfaces.
	Config::SetDefault("ns3::Ipv4::WeakEsModel", BooleanValue(false));
	Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + o.tcp));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
	Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delayed_acks));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
	Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
	Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(o.ecn ? "On" : "Off"));
}

// ns-3's own discipline of this type on the device, with a device queue of one packet below it. No
// other device has a discipline, because none has flow control.
Ptr<QueueDisc>
InstallReference(const Options &o, Ptr<NetDevice> device)
{
	const std::string type = o.policy.substr(4);
	TrafficControlHelper control;
	const std::string size = std::to_string(o.buffer - 1) + "p";

	if (type == "fifo") {
		control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(size));
	} else if (type == "red") { // Table 3 of the paper
		control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", StringValue(size), "MinTh",
					 DoubleValue(0.2 * o.buffer), "MaxTh", DoubleValue(o.buffer),
					 "QW", DoubleValue(0.001), "LInterm", DoubleValue(100),
					 "Gentle", BooleanValue(false), "MeanPktSize",
					 UintegerValue(FRAME_BYTES), "LinkBandwidth",
					 DataRateValue(DataRate(o.rate_mbps * 1e6)), "UseEcn",
					 BooleanValue(o.ecn));
	} else if (type == "fqcodel") {
		control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", StringValue(size),
					 "UseEcn", BooleanValue(o.ecn), "Flows",
					 UintegerValue(o.queues ? o.queues : 1024));
	} else {
		Refuse("policy", o.policy, "ns3:fifo, ns3:red or ns3:fqcodel");
	}
	return control.Install(device).Get(0);
}

struct Network {
	Ptr<PortQueue> port;	     // ours, or
	Ptr<QueueDisc> reference;    // ns-3's
	Ptr<Node> sink;
	NodeContainer sources;
	Ipv4Address sink_address;
};

Network
Wire(const Options &o)
{
	const bool is_reference = o.policy.rfind("ns3:", 0) == 0;
	const Time way = Seconds(o.rtt_ms * 1e-3 / 4); // each of two links, in each direction
	Network net;
	Ptr<Node> router = CreateObject<Node>();
	PointToPointHelper access, bottleneck;
	InternetStackHelper stack;
	Ipv4StaticRoutingHelper routing;

	net.sink = CreateObject<Node>();
	net.sources.Create(o.sources);
	stack.SetRoutingHelper(routing);
	stack.Install(router);
	stack.Install(net.sink);
	stack.Install(net.sources);

	access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(o.access_mbps * 1e6)));
	access.SetChannelAttribute("Delay", TimeValue(way));
	access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
	access.DisableFlowControl();
	bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(o.rate_mbps * 1e6)));
	bottleneck.SetChannelAttribute("Delay", TimeValue(way));
	bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(is_reference ? "1p" : "10000p"));
	if (!is_reference)
		bottleneck.DisableFlowControl();

	NetDeviceContainer ends = bottleneck.Install(router, net.sink);
	if (is_reference) {
		net.reference = InstallReference(o, ends.Get(0));
	} else {
		fq_config config;

		Configure(&config, o);
		net.port = CreateObject<PortQueue>();
		net.port->Open(config, o.queues == 0, o.seed);
		ends.Get(0)->SetAttribute("TxQueue", PointerValue(net.port));
	}

	Ipv4AddressHelper addresses("172.16.0.0", "255.255.255.252");
	net.sink_address = addresses.Assign(ends).GetAddress(1);
	routing.GetStaticRouting(net.sink->GetObject<Ipv4>())->SetDefaultRoute(Ipv4Address("172.16.0.1"), 1);
	// Source i is 10.0.0.0 + 4 i + 2.
	addresses.SetBase("10.0.0.0", "255.255.255.252");
	for (uint32_t i = 0; i < o.sources; i++) {
		NetDeviceContainer link = access.Install(router, net.sources.Get(i));
		Ipv4InterfaceContainer interfaces = addresses.Assign(link);

		routing.GetStaticRouting(net.sources.Get(i)->GetObject<Ipv4>())
			->SetDefaultRoute(interfaces.GetAddress(0), 1);
		addresses.NewNetwork();
	}
	return net;
}

void
Print(const Options &o, const Network &net, const std::vector<double> &goodput_Bps)
{
	const double fair_Bps =
		o.rate_mbps * 1e6 / 8 * SEGMENT_BYTES / FRAME_BYTES / goodput_Bps.size();
	double sum = 0, squares = 0, least = goodput_Bps[0], most = goodput_Bps[0];

	for (double rate : goodput_Bps) {
		sum += rate / fair_Bps;
		squares += rate / fair_Bps * rate / fair_Bps;
		least = std::min(least, rate);
		most = std::max(most, rate);
	}
	const double n = goodput_Bps.size(), mean = sum / n;
	const double sd = std::sqrt(std::max(0.0, squares / n - mean * mean));

	std::printf("%s,%u,%u,%u,%u,%g,", o.policy.c_str(), o.queues ? o.queues : o.sources, o.buffer,
		    o.sources, o.seed, o.seconds);
	std::printf("%.5f,%.5f,%.5f,%.5f,", mean, sd, least / fair_Bps, most / fair_Bps);
	if (net.port) {
		const Counters &c = net.port->m_counters;
		const uint64_t dropped = c.dropped[FQ_EARLY] + c.dropped[FQ_FULL] + c.dropped[FQ_PUSHED] +
					 c.dropped[FQ_LATE];

		std::printf("%.3f,%.3f,%.6f,%.6f", c.sent ? c.delay_sum_s / c.sent * 1e3 : 0,
			    c.delay_max_s * 1e3, double(dropped) / (c.sent + dropped),
			    c.sent ? double(c.marked) / c.sent : 0);
	} else {
		const QueueDisc::Stats &s = net.reference->GetStats();

		std::printf(",,%.6f,%.6f", double(s.nTotalDroppedPackets) / s.nTotalReceivedPackets,
			    double(s.nTotalMarkedPackets) / s.nTotalReceivedPackets);
	}
	for (double rate : goodput_Bps)
		std::printf(",%.5f", rate / fair_Bps);
	std::printf("\n");
}

int
Run(int argc, char **argv)
{
	Options o;
	CommandLine cmd(__FILE__);

	cmd.AddValue("policy", "a policy of queues/, or ns3:fifo, ns3:red, ns3:fqcodel", o.policy);
	cmd.AddValue("params", "NAME=VALUE,...: parameters of the policy", o.params);
	cmd.AddValue("queues", "1: a FIFO; more: flows by their hash; 0: a queue for each source", o.queues);
	cmd.AddValue("buffer", "frames that may wait", o.buffer);
	cmd.AddValue("sources", "TCP sources", o.sources);
	cmd.AddValue("rate", "of the shared link, Mb/s", o.rate_mbps);
	cmd.AddValue("access", "of a source's link, Mb/s", o.access_mbps);
	cmd.AddValue("rtt", "round-trip time without queues, ms", o.rtt_ms);
	cmd.AddValue("seconds", "simulated time", o.seconds);
	cmd.AddValue("jitter", "sources start within this time, ms", o.jitter_ms);
	cmd.AddValue("tcp", "congestion control of the sources: a type of ns-3", o.tcp);
	cmd.AddValue("sack", "selective acknowledgements", o.sack);
	cmd.AddValue("ecn", "sources know ECN", o.ecn);
	cmd.AddValue("delayed-acks", "segments for each acknowledgement", o.delayed_acks);
	cmd.AddValue("seed", "random seed", o.seed);
	cmd.Parse(argc, argv);
	if (o.sources < 1 || o.sources > FQ_QUEUES_MAX)
		Refuse("sources", std::to_string(o.sources), "1.." + std::to_string(FQ_QUEUES_MAX));
	if (!(o.seconds > 0 && o.rate_mbps > 0 && o.access_mbps > 0 && o.rtt_ms >= 0 && o.jitter_ms >= 0))
		Refuse("seconds, --rate, --access, --rtt, --jitter", "", "numbers that are not negative,");

	// The order of events is the same with each scheduler; this one is faster than the default.
	GlobalValue::Bind("SchedulerType", StringValue("ns3::CalendarScheduler"));
	RngSeedManager::SetSeed(o.seed);
	ConfigureTcp(o);
	const Network net = Wire(o);
	Ptr<UniformRandomVariable> rng = CreateObject<UniformRandomVariable>();
	std::vector<Ptr<PacketSink>> sinks;

	for (uint32_t i = 0; i < o.sources; i++) {
		const uint16_t port = static_cast<uint16_t>(TCP_PORT + i);
		PacketSinkHelper sink("ns3::TcpSocketFactory",
				      InetSocketAddress(Ipv4Address::GetAny(), port));
		BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(net.sink_address, port));

		sinks.push_back(DynamicCast<PacketSink>(sink.Install(net.sink).Get(0)));
		source.SetAttribute("SendSize", UintegerValue(20 * SEGMENT_BYTES));
		source.Install(net.sources.Get(i)).Start(Seconds(rng->GetValue() * o.jitter_ms * 1e-3));
	}
	Simulator::Stop(Seconds(o.seconds));
	Simulator::Run();

	std::vector<double> goodput_Bps;
	for (const Ptr<PacketSink> &sink : sinks)
		goodput_Bps.push_back(sink->GetTotalRx() / o.seconds);
	Print(o, net, goodput_Bps);
	Simulator::Destroy();
	return 0;
}

} // namespace

int
main(int argc, char **argv)
{
	try {
		return Run(argc, argv);
	} catch (const std::invalid_argument &refused) {
		std::fprintf(stderr, "fq-ns3: %s\n", refused.what());
		return 2;
	}
}
